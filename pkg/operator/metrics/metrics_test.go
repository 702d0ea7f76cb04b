package metrics_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/history"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/metrics"
	"github.com/trainingjob/operator/test/sim/builder"
)

// told returns observations as Prometheus writes them, sorted.
func told(list []metrics.Observation) []string {
	var lines []string
	for _, o := range list {
		labels := make([]string, len(o.Labels))
		for i, value := range o.Labels {
			labels[i] = o.Family.Labels[i] + "=" + value
		}
		lines = append(lines, fmt.Sprintf("%s{%s} %v", strings.TrimPrefix(o.Family.Name, "trainingjob_"), strings.Join(labels, ","), o.Value))
	}
	slices.Sort(lines)
	return lines
}

type status = v1alpha1.TrainingJobStatus

// is sets a condition of a status.
func is(s *status, kind string, value metav1.ConditionStatus, reason string, at time.Duration) {
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
	s.Conditions = append(s.Conditions, metav1.Condition{Type: kind, Status: value, Reason: reason, LastTransitionTime: builder.Time(at)})
}

func incident(role v1alpha1.Role, index int32, scope v1alpha1.RestartScope, failed, decided time.Duration) v1alpha1.Incident {
	return v1alpha1.Incident{
		Failure: v1alpha1.Failure{Role: role, Index: index, Cause: v1alpha1.CauseInfrastructure, Node: "gpu-1", Pod: state.PodName("j", state.Slot{Role: role, Index: int(index)}, state.Life{}),
			Time: builder.Time(failed)},
		Scope: scope, RestartTime: builder.Time(decided),
	}
}

// started sets which replicas have run in their present life, which is the second of number 3.
func started(s *status, role v1alpha1.Role, text string) { startedIn(s, role, text, "3:1") }

func startedIn(s *status, role v1alpha1.Role, text, replacements string) {
	s.Memory.Roles = map[v1alpha1.Role]v1alpha1.RoleMemory{role: {Started: text, Replacements: replacements}}
}

// What one status says beside the one before it. s is one second.
func TestObserve(t *testing.T) {
	const s = time.Second
	cases := []struct {
		name string
		was  func(*status)
		then func(*status)
		// restarts are those that the plan decides.
		restarts []v1alpha1.Incident
		want     []string
	}{
		{name: "nothing has changed"},
		{name: "a new job gets its first status",
			then: func(n *status) { is(n, "Created", "True", "JobCreated", 7*s) },
			want: []string{"taken_up_seconds{} 7"}},
		{name: "a job starts: it has nodes after 20 s and runs after 30",
			was: func(w *status) { w.StartTime = builder.TimePtr(0); is(w, "Scheduled", "False", "Unschedulable", 0) },
			then: func(n *status) {
				is(n, "Scheduled", "True", "AllScheduled", 20*s)
				is(n, "Running", "True", "AllReplicasRunning", 30*s)
				n.RunningTime = builder.TimePtr(30 * s)
				n.LostSeconds = v1alpha1.LostSeconds{Nodes: 20, Starting: 10}
			},
			want: []string{"gang_wait_seconds{gang=Default} 20", "lost_seconds_total{framework=PyTorch,cause=nodes,during=start} 20",
				"lost_seconds_total{framework=PyTorch,cause=starting,during=start} 10", "startup_seconds{framework=PyTorch} 30"}},
		{name: "a queue admits the job, and what was counted before is not counted again",
			was: func(w *status) { is(w, "Queued", "True", "AwaitingAdmission", 10*s); w.LostSeconds.Queue = 50 },
			then: func(n *status) {
				is(n, "Queued", "False", "Resumed", 70*s)
				n.LostSeconds.Queue = 60
			},
			want: []string{"lost_seconds_total{framework=PyTorch,cause=queue,during=start} 10", "queue_wait_seconds{framework=PyTorch} 60"}},
		{name: "the wait of a job that was resumed begins with that",
			was:  func(w *status) { w.StartTime = builder.TimePtr(0); is(w, "Suspended", "False", "Resumed", 100*s) },
			then: func(n *status) { is(n, "Scheduled", "True", "AllScheduled", 103*s) },
			want: []string{"gang_wait_seconds{gang=Default} 3"}},
		{name: "the wait of a job of which a pod fits nowhere again begins with that",
			was:  func(w *status) { w.StartTime = builder.TimePtr(0); is(w, "Scheduled", "False", "Unschedulable", 100*s) },
			then: func(n *status) { is(n, "Scheduled", "True", "AllScheduled", 109*s) },
			want: []string{"gang_wait_seconds{gang=Default} 9"}},
		{name: "a restart that avoids the node",
			then: func(n *status) {
				n.AvoidedNodes = []v1alpha1.AvoidedNode{{Name: "gpu-1", Reason: "NodeLost", ExpirationTime: builder.Time(time.Hour)}}
			},
			restarts: []v1alpha1.Incident{incident("Worker", 3, "Replica", 0, 15*s)},
			want:     []string{"decision_seconds{node_lost=false} 15", "node_faults_total{reason=NodeLost} 1", "restarts_total{framework=PyTorch,role=Worker,cause=Infrastructure,scope=Replica,strategy=elsewhere} 1"}},
		{name: "a restart in place of the whole job: what its detection took",
			was: func(w *status) { is(w, "Running", "True", "AllReplicasRunning", 0) },
			then: func(n *status) {
				n.Attempt, n.Memory.GroupAttempt = 1, ptr.To[int32](0)
				is(n, "Restarting", "True", "ReplicaLost", 15*s)
				is(n, "Running", "False", "ReplicaLost", 15*s)
				n.LostSeconds.Detection = 15
			},
			restarts: []v1alpha1.Incident{incident("Worker", 3, "Job", 0, 15*s)},
			want:     []string{"decision_seconds{node_lost=false} 15", "lost_seconds_total{framework=PyTorch,cause=detection,during=restart} 15", "restarts_total{framework=PyTorch,role=Worker,cause=Infrastructure,scope=Job,strategy=in_place} 1"}},
		{name: "a role of the user's own is no label",
			then: func(*status) {}, restarts: []v1alpha1.Incident{incident("learner", 0, "Replica", 0, s)},
			want: []string{"decision_seconds{node_lost=false} 1", "restarts_total{framework=PyTorch,role=Other,cause=Infrastructure,scope=Replica,strategy=recreate} 1"}},
		{name: "the whole job runs again: 40 s after the failure",
			was: func(w *status) {
				w.Attempt, w.Incidents = 1, []v1alpha1.Incident{incident("Worker", 3, "Job", 10*s, 25*s)}
				is(w, "Restarting", "True", "ReplicaLost", 25*s)
				is(w, "Scheduled", "False", "ReplicaLost", 25*s)
				is(w, "Running", "False", "ReplicasStarting", 25*s)
			},
			then: func(n *status) {
				is(n, "Scheduled", "True", "AllScheduled", 30*s)
				is(n, "Running", "True", "AllReplicasRunning", 50*s)
				is(n, "Restarting", "False", "Restarted", 50*s)
				n.LostSeconds.Restart, n.LostSeconds.Starting = 5, 20
			},
			want: []string{"lost_seconds_total{framework=PyTorch,cause=restart,during=restart} 5", "lost_seconds_total{framework=PyTorch,cause=starting,during=restart} 20",
				"recovery_part_seconds{part=detection} 15", "recovery_part_seconds{part=placement} 5", "recovery_part_seconds{part=start} 20",
				"recovery_seconds{cause=Infrastructure,scope=Job} 40"}},
		{name: "a job that was suspended in the middle of its restart has not recovered when it runs",
			was: func(w *status) {
				w.Attempt, w.Incidents = 1, []v1alpha1.Incident{incident("Worker", 3, "Job", 10*s, 25*s)}
				is(w, "Restarting", "False", "SuspendedBySpec", 26*s)
			},
			then: func(n *status) { is(n, "Running", "True", "AllReplicasRunning", time.Hour) }},
		{name: "one replica runs again",
			was: func(w *status) {
				w.Incidents = []v1alpha1.Incident{incident("Worker", 3, "Replica", 10*s, 10*s)}
				started(w, "Worker", "0-2")
			},
			then: func(n *status) { started(n, "Worker", "0-3"); n.Memory.CountedTime = builder.TimePtr(17 * s) },
			want: []string{"recovery_seconds{cause=Infrastructure,scope=Replica} 7"}},
		{name: "a node that was unhealthy before the job began costs it nothing before that",
			was: func(w *status) {
				w.StartTime = builder.TimePtr(12 * s)
				w.Incidents = []v1alpha1.Incident{incident("Worker", 3, "Replica", -time.Hour, 13*s)}
			},
			then: func(n *status) { started(n, "Worker", "3"); n.Memory.CountedTime = builder.TimePtr(17 * s) },
			want: []string{"recovery_seconds{cause=Infrastructure,scope=Replica} 5"}},
		{name: "a replica that one change of the spec was to take away, and the next one leaves, has not recovered again",
			was: func(w *status) {
				w.Incidents = []v1alpha1.Incident{incident("Worker", 3, "Replica", 10*s, 10*s)}
				started(w, "Worker", "0-2")
			},
			then: func(n *status) {
				started(n, "Worker", "0-3")
				n.ObservedGeneration, n.Memory.CountedTime = 3, builder.TimePtr(17*s)
			}},
		{name: "another replica starts",
			was: func(w *status) {
				w.Incidents = []v1alpha1.Incident{incident("Worker", 3, "Replica", 10*s, 10*s)}
				started(w, "Worker", "0-1")
			},
			then: func(n *status) { started(n, "Worker", "0-2"); n.Memory.CountedTime = builder.TimePtr(17 * s) }},
		{name: "the last replica of a role runs again",
			was: func(w *status) {
				w.Incidents = []v1alpha1.Incident{incident("Worker", 3, "Role", 10*s, 10*s)}
				started(w, "Worker", "0-2")
			},
			then: func(n *status) { started(n, "Worker", "0-3"); n.Memory.CountedTime = builder.TimePtr(22 * s) },
			want: []string{"recovery_seconds{cause=Infrastructure,scope=Role} 12"}},
		{name: "a replica that began another life since, by a suspension or as it was taken away, has not recovered when it runs",
			was: func(w *status) {
				w.Incidents = []v1alpha1.Incident{incident("Worker", 3, "Replica", 10*s, 10*s)}
			},
			then: func(n *status) {
				startedIn(n, "Worker", "0-3", "3:2")
				n.Memory.CountedTime = builder.TimePtr(2 * time.Hour)
			}},
		{name: "a replica that came back to an unhealthy node and left it again recovers from the second restart alone",
			was: func(w *status) {
				second := incident("Worker", 3, "Replica", 10*s, 40*s)
				second.Pod, second.Replacement = "j-worker-3-a0r1", 1
				w.Incidents = []v1alpha1.Incident{second, incident("Worker", 3, "Replica", 10*s, 20*s)}
			},
			then: func(n *status) { startedIn(n, "Worker", "3", "3:2"); n.Memory.CountedTime = builder.TimePtr(45 * s) },
			want: []string{"recovery_seconds{cause=Infrastructure,scope=Replica} 25"}},
		{name: "a role in which a replica broke after it was restarted whole is not recovered once more when that one runs",
			was: func(w *status) {
				w.Incidents = []v1alpha1.Incident{incident("Worker", 1, "Replica", 30*s, 30*s), incident("Worker", 3, "Role", 10*s, 10*s)}
				startedIn(w, "Worker", "0,2-3", "0:1,1:2,2-3:1")
				w.Incidents[0].Pod, w.Incidents[0].Replacement = "j-worker-1-a0r1", 1
			},
			then: func(n *status) {
				startedIn(n, "Worker", "0-3", "0:1,1:2,2-3:1")
				n.Memory.CountedTime = builder.TimePtr(40 * s)
			},
			want: []string{"recovery_seconds{cause=Infrastructure,scope=Replica} 10"}},
		{name: "the job fails",
			then: func(n *status) {
				n.StartTime, n.CompletionTime, n.RunningSeconds = builder.TimePtr(0), builder.TimePtr(time.Hour), 3150
				is(n, "Failed", "True", "MaxRestartsExceeded", time.Hour)
			},
			want: []string{"finished_total{framework=PyTorch,result=Failed,reason=MaxRestartsExceeded} 1", "running_time_ratio{framework=PyTorch,result=Failed} 0.875"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := builder.Job("j", builder.Framework(v1alpha1.PyTorch), builder.Workers(4))
			job.Status = status{}
			if c.was != nil {
				c.was(&job.Status)
			}
			p := plan.Plan{Status: *job.Status.DeepCopy()}
			if c.then != nil {
				c.then(&p.Status)
			}
			for _, i := range c.restarts {
				p.Restarts = append(p.Restarts, failure.Restart{Incident: i})
			}
			if diff := cmp.Diff(c.want, told(metrics.Observe(history.Between(job, &p.Status, p.Restarts)))); diff != "" {
				t.Errorf("observed (-want +got):\n%s", diff)
			}
			again := *job
			again.Status = p.Status
			if more := metrics.Observe(history.Between(&again, &p.Status, nil)); len(more) > 0 {
				t.Errorf("the same status a second time: %s", told(more))
			}
		})
	}
}

func TestFleet(t *testing.T) {
	job := func(namespace, phase, reason string, change func(*status)) v1alpha1.TrainingJob {
		j := builder.Job("j", builder.Framework(v1alpha1.JAX), builder.Workers(2))
		j.Namespace, j.Status = namespace, status{Phase: v1alpha1.Phase(phase), Reason: reason, Replicas: 2, ReadyReplicas: 1}
		if change != nil {
			change(&j.Status)
		}
		return *j
	}
	avoids := func(node, reason string) func(*status) {
		return func(s *status) { s.AvoidedNodes = []v1alpha1.AvoidedNode{{Name: node, Reason: reason}} }
	}
	jobs := []v1alpha1.TrainingJob{
		job("a", "", "", nil),
		job("a", "Pending", "Unschedulable", nil),
		job("a", "Pending", "the words of a tenant", func(s *status) { is(s, "Stalled", "True", "QuotaExceeded", 0) }),
		job("a", "Running", "AllReplicasRunning", func(s *status) {
			s.Progress = &v1alpha1.ProgressStatus{RenewTime: builder.TimePtr(0)}
			is(s, "Progressing", "False", "ProgressStalled", 0)
			s.Budgets = []v1alpha1.Budget{{Name: "maxRestarts", Used: 2, Limit: 2}, {Name: "maxOOMRestarts", Used: 1, Limit: 1}}
			s.Memory.Charges = []v1alpha1.Charges{{Name: "maxRestarts", Times: []metav1.Time{builder.Time(0), builder.Time(1)}},
				{Name: "maxOOMRestarts", Times: []metav1.Time{builder.Time(-25 * time.Hour)}}}
		}),
		job("a", "Running", "", func(s *status) { s.Progress = &v1alpha1.ProgressStatus{RenewTime: builder.TimePtr(50 * time.Second)} }),
		job("a", "Failed", "FatalExit", func(s *status) { s.CompletionTime = builder.TimePtr(0); is(s, "Stalled", "True", "FatalExit", 0) }),
	}
	for range 3 { // jobs of one tenant are one witness
		jobs = append(jobs, job("a", "Queued", "AwaitingAdmission", avoids("gpu-0", "Error")))
	}
	jobs = append(jobs, job("a", "Queued", "", avoids("gpu-1", "NodeLost")), job("b", "Queued", "", avoids("gpu-1", "NodeLost")), job("b", "Queued", "", avoids("gpu-1", "OutOfcpu")))
	want := []string{
		"avoided_nodes{kind=crash,node=gpu-0} 1", "avoided_nodes{kind=crash,node=gpu-1} 1", "avoided_nodes{kind=fault,node=gpu-1} 2",
		"broken_nodes{node=gpu-1,reason=NodeLost} 1", "hanging_jobs{framework=JAX} 1",
		"jobs_without_budget{budget=maxRestarts} 1", "jobs{framework=JAX,phase=Failed} 1", "jobs{framework=JAX,phase=Pending} 2",
		"jobs{framework=JAX,phase=Queued} 6", "jobs{framework=JAX,phase=Running} 2", "jobs{framework=JAX,phase=} 1",
		"oldest_progress_seconds{framework=JAX} 60", "ready_replicas{framework=JAX} 4", "replicas{framework=JAX} 8", "stalled_jobs{reason=QuotaExceeded} 1",
		"waiting_jobs{framework=JAX,reason=Other} 1", "waiting_jobs{framework=JAX,reason=Unschedulable} 1",
	}
	broken := map[string]string{"gpu-1": "NodeLost", "gpu-2": "NodeLost"} // no job avoids gpu-2
	if diff := cmp.Diff(want, told(metrics.Fleet(jobs, broken, builder.Epoch.Add(time.Minute)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOfJob(t *testing.T) {
	job := builder.Job("j", builder.Framework(v1alpha1.JAX), builder.Workers(2))
	job.Namespace, job.UID, job.Labels = "a", "u", map[string]string{v1alpha1.LabelQueue: "q"}
	job.Status = status{
		Phase: "Running", Replicas: 2, ReadyReplicas: 2, Attempt: 1, Restarts: 3, ChargedRestarts: 1, RunningSeconds: 20, StartTime: builder.TimePtr(-60 * time.Second),
		LostSeconds: v1alpha1.LostSeconds{Nodes: 7},
		Progress: &v1alpha1.ProgressStatus{
			Step: 42, RenewTime: builder.TimePtr(50 * time.Second), CheckpointTime: builder.TimePtr(0),
		},
		Budgets: []v1alpha1.Budget{{Name: "maxRestarts", Used: 1, Limit: 10}},
		Memory:  v1alpha1.Memory{Charges: []v1alpha1.Charges{{Name: "maxRestarts", Times: []metav1.Time{builder.Time(0)}}}},
	}
	is(&job.Status, "Running", "True", "AllReplicasRunning", 20*time.Second)
	want := []string{
		"job_attempt{namespace=a,trainingjob=j} 1", "job_budget_left{namespace=a,trainingjob=j,budget=maxRestarts} 9", "job_charged_restarts{namespace=a,trainingjob=j} 1",
		"job_checkpoint_age_seconds{namespace=a,trainingjob=j} 60", "job_info{namespace=a,trainingjob=j,framework=JAX,queue=q,uid=u} 1",
		"job_lost_seconds_total{namespace=a,trainingjob=j,cause=detection} 0", "job_lost_seconds_total{namespace=a,trainingjob=j,cause=nodes} 7",
		"job_lost_seconds_total{namespace=a,trainingjob=j,cause=queue} 0", "job_lost_seconds_total{namespace=a,trainingjob=j,cause=redone} 0",
		"job_lost_seconds_total{namespace=a,trainingjob=j,cause=restart} 0", "job_lost_seconds_total{namespace=a,trainingjob=j,cause=starting} 0",
		"job_phase{namespace=a,trainingjob=j,phase=Running} 1", "job_progress_age_seconds{namespace=a,trainingjob=j} 10", "job_progress_step{namespace=a,trainingjob=j} 42",
		"job_ready_replicas{namespace=a,trainingjob=j} 2", "job_replicas{namespace=a,trainingjob=j} 2", "job_restarts_total{namespace=a,trainingjob=j} 3",
		"job_running_seconds_total{namespace=a,trainingjob=j} 60", "job_running_time_ratio{namespace=a,trainingjob=j} 0.5",
	}
	if diff := cmp.Diff(want, told(metrics.OfJob(job, builder.Epoch.Add(time.Minute)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The conventions of Prometheus: https://prometheus.io/docs/practices/naming/.
func TestTheCatalogueKeepsTheConventions(t *testing.T) {
	names := map[string]bool{}
	for _, f := range metrics.All {
		switch {
		case names[f.Name]:
			t.Errorf("%s is there twice", f.Name)
		case !regexp.MustCompile(`^trainingjob_[a-z]+(_[a-z]+)*$`).MatchString(f.Name):
			t.Errorf("%s is no name", f.Name)
		case (f.Kind == metrics.Counter) != strings.HasSuffix(f.Name, "_total"):
			t.Errorf("%s is a %s", f.Name, f.Kind)
		case f.Unit == "seconds" && !strings.HasSuffix(strings.TrimSuffix(f.Name, "_total"), "_seconds"):
			t.Errorf("%s does not name its unit", f.Name)
		case !strings.HasSuffix(f.Help, "."):
			t.Errorf("%s: the help is no sentence: %q", f.Name, f.Help)
		case (f.Kind == metrics.Histogram) != (len(f.Buckets) > 0):
			t.Errorf("%s has %d buckets", f.Name, len(f.Buckets))
		case f.Group != metrics.GroupJobs && (slices.Contains(f.Labels, "job") || slices.Contains(f.Labels, "trainingjob") || slices.Contains(f.Labels, "namespace")):
			t.Errorf("%s names jobs, which only --job-metrics may", f.Name)
		}
		names[f.Name] = true
	}
	if len(names) < 30 {
		t.Errorf("%d metrics", len(names))
	}
}
