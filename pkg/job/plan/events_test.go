package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

const (
	normal  = corev1.EventTypeNormal
	warning = corev1.EventTypeWarning
)

func TestEvents(t *testing.T) {
	first := builder.Life(0, 0) // the status may have a later one
	runs := seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("evaluator", 0))
	options := func(more ...builder.JobOption) []builder.JobOption {
		return append([]builder.JobOption{builder.Workers(2), builder.Evaluators(1)}, more...)
	}
	fresh := builder.Job("j", options()...)
	pending := takenOn(t, options()...)
	running := underWay(t, takenOn(t, options()...), runs...)
	collective := underWay(t, takenOn(t, options(pytorch)...), runs...)
	suspend := running.DeepCopy()
	suspend.Spec.Suspend = ptr.To(true)
	resumed := after(t, builder.Snapshot(suspend, runs...))
	resumed.Spec.Suspend = ptr.To(false)
	setsRank := builder.Job("j", pytorch, builder.Workers(2, builder.Template(func(template *corev1.PodTemplateSpec) {
		template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "WORLD_SIZE", Value: "8"}, {Name: "RANK", Value: "0"}}
	})))
	cases := []struct {
		name string
		job  *v1alpha1.TrainingJob
		pods []builder.SnapshotOption
		want []plan.Event
	}{
		{"a new job has none", fresh, nil, nil},
		{"a job at rest has none", running, runs, nil},
		{"variables that the template sets itself have one Event", setsRank, nil, []plan.Event{{Type: warning, Reason: "EnvConflict", Action: "Worker", Message: "the template of Worker sets RANK, WORLD_SIZE itself; its value is used instead of the operator's"}}},
		{"the job runs", pending, runs, []plan.Event{{Type: normal, Reason: "Running", Action: "AllReplicasRunning", Message: "AllReplicasRunning: All replicas run."}}},
		{"a pod fits nowhere", pending, seen(builder.Pending("worker", 1, builder.Unschedulable("0/3 nodes have 8 GPUs"))),
			[]plan.Event{{Type: warning, Reason: "Unschedulable", Action: "Scheduled", Message: "worker-1: 0/3 nodes have 8 GPUs"}}},
		{"the API server refuses", pending, seen(builder.Refused(v1alpha1.ReasonForbidden, "no", 90*second)),
			[]plan.Event{{Type: warning, Reason: "Stalled", Action: "Forbidden", Message: "Forbidden: no"}}},
		{"the whole job restarts", collective, seen(runs[0], builder.Failed("worker", 1, builder.Exit(1), first), runs[2]),
			[]plan.Event{{Type: warning, Reason: "Restarting", Action: "Job", Message: "worker-1 on node-worker-1 exited with code 1 (Error): the whole job restarts as attempt 1, 2 more follow, restart 1 of 10."}}},
		{"two replicas are replaced: one Event", running,
			seen(builder.Failed("worker", 0, builder.Exit(1), first), builder.Failed("worker", 1, builder.Exit(1), first), runs[2]),
			[]plan.Event{{Type: warning, Reason: "ReplicaRestarting", Action: "Replica", Message: "worker-0 on node-worker-0 exited with code 1 (Error), and 1 more did in the same second: this replica is replaced, and 1 more with it, restart 1 of 10. Also restarting: worker-1."}}},
		{"an evaluator is given up", running, seen(runs[0], runs[1], builder.Failed("evaluator", 0, builder.Exit(127))),
			[]plan.Event{{Type: warning, Reason: "ReplicaGivenUp", Action: "Fatal", Message: "evaluator-0 on node-evaluator-0 exited with code 127 (Error) and is not restarted; the job continues."}}},
		{"the user suspends", suspend, runs, []plan.Event{{Type: normal, Reason: "Suspended", Action: "SuspendedBySpec", Message: "SuspendedBySpec: The job is suspended: its spec has suspend: true. Its pods are stopped; its counters are kept."}}},
		{"the user resumes", resumed, nil, []plan.Event{{Type: normal, Reason: "Resumed", Action: "Resumed", Message: "The job is no longer suspended."}}},
		{"the job succeeds", running, seen(builder.Succeeded("worker", 0), runs[1], runs[2]),
			[]plan.Event{{Type: normal, Reason: "Succeeded", Action: "LeaderSucceeded", Message: "LeaderSucceeded: worker-0 leads the job and exited with code 0."}}},
		{"the job fails: Failed has an Event, Stalled has none", running, seen(runs[0], builder.Failed("worker", 1, builder.Exit(126)), runs[2]),
			[]plan.Event{{Type: warning, Reason: "Failed", Action: "FatalExit", Message: "FatalExit: worker-1 on node-worker-1 exited with code 126 (Error), which is permanent under restartPolicy OnFailure."}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(c.job, c.pods...)
			if diff := cmp.Diff(c.want, plan.Make(s).Events); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
			again := builder.Snapshot(after(t, s), append(c.pods, builder.Recorded(time.Minute))...)
			if events := plan.Make(again).Events; len(events) > 0 {
				t.Errorf("Events after the status was written: %v", events)
			}
		})
	}
}

func TestManyReplacedReplicasAreToldInOneShortEvent(t *testing.T) {
	var pods []builder.SnapshotOption
	for i := range 9 {
		pods = append(pods, builder.Failed("worker", i, builder.Exit(1)))
	}
	want := "worker-0 on node-worker-0 exited with code 1 (Error), and 8 more did in the same second: " +
		"this replica is replaced, and 8 more with it, restart 1 of 10." +
		" Also restarting: worker-1, worker-2, worker-3, worker-4, 4 more."
	got := plan.Make(builder.Snapshot(builder.Job("j", builder.Workers(9)), pods...)).Events
	if diff := cmp.Diff([]plan.Event{{Type: warning, Reason: "ReplicaRestarting", Action: "Replica", Message: want}}, got); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}

// After the result an evaluator's failure emits no Event.
func TestAFinishedJobGivesNobodyUp(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.Evaluators(1), builder.Clean(v1alpha1.CleanNone), finished(v1alpha1.ReasonLeaderSucceeded))
	if got := plan.Make(builder.Snapshot(job, builder.Failed("evaluator", 0, builder.Exit(127)))).Events; len(got) > 0 {
		t.Errorf("Events %v", got)
	}
}
