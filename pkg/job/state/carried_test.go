package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// ledger is what a dispatched job has counted in all clusters together.
type ledger struct {
	Attempt, Restarts, Charged, OfWorkers int32
	Incidents, Charges                    int
	Ran, Suspended, Queued                int64
}

func ledgerOf(s *v1alpha1.TrainingJobStatus) ledger {
	charges := 0
	for _, c := range s.Memory.Charges {
		charges += len(c.Times)
	}
	return ledger{s.Attempt, s.Restarts, s.ChargedRestarts, s.ReplicaStatuses[v1alpha1.Worker].Restarts, len(s.Incidents), charges,
		s.RunningSeconds, s.SuspendedSeconds, s.LostSeconds.Queue}
}

// dispatches is a job that MultiKueue sends from cluster to cluster.
type dispatches struct {
	now, left time.Time
	// carried is the annotation, and counted what it has to hold.
	carried string
	counted ledger
}

func (d *dispatches) job(status *v1alpha1.TrainingJobStatus) *v1alpha1.TrainingJob {
	job := builder.Job("j", builder.Workers(2), builder.Suspended())
	if job.Status = *status; d.carried != "" {
		builder.Dispatched(d.carried)(job)
	}
	return job
}

// pass lets whole seconds pass.
func (d *dispatches) pass(t *rapid.T, what string) int64 {
	seconds := rapid.Int64Range(0, 5000).Draw(t, what)
	d.now = d.now.Add(time.Duration(seconds) * time.Second)
	return seconds
}

// begin returns the status with which the job begins in the next cluster: in the next attempt, after the time in no cluster.
func (d *dispatches) begin(t *rapid.T) (*v1alpha1.TrainingJobStatus, ledger) {
	d.pass(t, "seconds in no cluster")
	s, err := builder.Snapshot(d.job(&v1alpha1.TrainingJobStatus{}), builder.Now(d.now.Sub(builder.Epoch))).Begin()
	if err != nil {
		t.Fatal(err)
	}
	want := d.counted
	if d.carried != "" {
		away := int64(d.now.Sub(d.left).Seconds())
		want.Attempt, want.Suspended, want.Queued = want.Attempt+1, want.Suspended+away, want.Queued+away
	}
	if diff := cmp.Diff(want, ledgerOf(&s.Job.Status)); diff != "" {
		t.Fatalf("the job begins with other counts (-want +got):\n%s", diff)
	}
	return s.Job.Status.DeepCopy(), want
}

// run is the job's time in a cluster. Its last run goes on until it leaves, and counts though no status has its seconds.
func (d *dispatches) run(t *rapid.T, status *v1alpha1.TrainingJobStatus, counted *ledger) {
	if status.StartTime == nil {
		status.StartTime = &metav1.Time{Time: d.now}
	}
	restarts := rapid.Int32Range(0, 4).Draw(t, "restarts")
	whole, charged := rapid.Int32Range(0, restarts).Draw(t, "whole-job restarts"), rapid.Int32Range(0, restarts).Draw(t, "charged")
	status.Attempt, status.Restarts, status.ChargedRestarts = status.Attempt+whole, status.Restarts+restarts, status.ChargedRestarts+charged
	workers := v1alpha1.ReplicaStatus{Active: 2, Ready: 2, Restarts: status.ReplicaStatuses[v1alpha1.Worker].Restarts + restarts}
	status.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.Worker: workers}
	status.AvoidedNodes = []v1alpha1.AvoidedNode{{Name: "of-this-cluster"}}
	at := metav1.NewTime(d.now)
	for range restarts {
		status.Incidents = append(status.Incidents, v1alpha1.Incident{Scope: v1alpha1.ScopeReplica, RestartTime: at,
			Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Node: "of-this-cluster", Message: "lost", Time: at}})
	}
	status.Incidents = status.Incidents[:min(len(status.Incidents), v1alpha1.MaxIncidents)]
	if status.Memory.Charges == nil {
		status.Memory.Charges = []v1alpha1.Charges{{Name: v1alpha1.BudgetRestarts}}
	}
	for range charged {
		status.Memory.Charges[0].Times = append(status.Memory.Charges[0].Times, at)
	}
	former, suspended := d.pass(t, "seconds of earlier runs"), d.pass(t, "seconds suspended")
	status.RunningSeconds, status.SuspendedSeconds = status.RunningSeconds+former, status.SuspendedSeconds+suspended
	status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRunning, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(d.now)}}
	last := d.pass(t, "seconds of the last run")
	counted.Attempt, counted.Restarts, counted.Charged, counted.OfWorkers = counted.Attempt+whole, counted.Restarts+restarts, counted.Charged+charged, counted.OfWorkers+restarts
	counted.Incidents, counted.Charges = min(counted.Incidents+int(restarts), v1alpha1.MaxIncidents), counted.Charges+int(charged)
	counted.Ran, counted.Suspended = counted.Ran+former+last, counted.Suspended+suspended
}

// leave carries the counts of the job, once for each cluster, however often the adapter tries.
func (d *dispatches) leave(t *rapid.T, status *v1alpha1.TrainingJobStatus) {
	again := func(status *v1alpha1.TrainingJobStatus) string {
		text, err := state.CarriedStatus(d.job(status), d.now)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	d.carried, d.left = again(status), d.now
	shown, err := state.ParseCarried(d.carried, d.now)
	if err != nil {
		t.Fatal(err)
	}
	if shown.ReplicaStatuses[v1alpha1.Worker].Active != 0 || len(shown.AvoidedNodes)+len(shown.Conditions) != 0 || strings.Contains(d.carried, "of-this-cluster") {
		t.Fatalf("it carries what is true in one cluster: %s", d.carried)
	}
	d.pass(t, "seconds until the adapter tries again")
	for name, status := range map[string]*v1alpha1.TrainingJobStatus{"of the cluster": status, "that waits": shown, "without a start": {}} {
		if text := again(status); text != d.carried {
			t.Fatalf("with the status %s it carries %s, want %s", name, text, d.carried)
		}
	}
}

// What a job counts in each cluster is counted once, over any number of dispatches. A cluster that is lost before it reports counts nothing.
func TestCountsAreCarriedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &dispatches{now: builder.Epoch}
		for range rapid.IntRange(1, 6).Draw(t, "dispatches") {
			status, counted := d.begin(t)
			if rapid.IntRange(0, 3).Draw(t, "lost") == 0 {
				continue
			}
			d.run(t, status, &counted)
			d.counted = counted
			d.leave(t, status)
		}
		d.begin(t)
	})
}
