package plan_test

import (
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// The main container exits with 0 and an exporter beside it runs on.
func TestTheMainContainersSuccessIsTheReplicas(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.AllWorkers(), builder.StartedAt(0), created, builder.RunsSince(0),
		builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0-1"}))
	one := seen(builder.Running("worker", 0), builder.Running("worker", 1, builder.MainDone()))
	first := plan.Make(builder.Snapshot(job, one...))
	if got := first.Status.Memory.Roles[v1alpha1.Worker].Succeeded; got != "1" || len(first.Steps) > 0 {
		t.Fatalf("succeeded %q; before that is written: %v", got, lines(first.Steps))
	}
	next := job.DeepCopy()
	next.Status = first.Status
	waits := plan.Make(builder.Snapshot(next, append(one, endsSeen(40*second), builder.Now(69*second))...))
	if len(waits.Steps) > 0 || wakeOf(waits) != 70*second {
		t.Errorf("the exporter has 30 s from when the operator saw the success: %v, wakes at %v", lines(waits.Steps), wakeOf(waits))
	}
	if got := lines(plan.Make(builder.Snapshot(next, append(one, endsSeen(40*second), builder.Now(70*second))...)).Steps); len(got) != 1 || got[0] != "delete j-worker-1: its main container has succeeded" {
		t.Errorf("then: %v", got)
	}
	all := seen(builder.Running("worker", 0, builder.MainDone()), builder.Running("worker", 1, builder.MainDone(), builder.DeletedAt(30*second)))
	if got := plan.Make(builder.Snapshot(next, all...)); got.Status.Phase != v1alpha1.PhaseSucceeded {
		t.Errorf("at last the job is %s: %s", got.Status.Phase, got.Status.Message)
	}
}

// endsSeen says when the operator saw the ends of the pods.
func endsSeen(at time.Duration) builder.SnapshotOption {
	return func(o *state.Observed) {
		for i := range o.Pods {
			o.Pods[i].EndSeen = builder.Epoch.Add(at)
		}
	}
}

// A job that reports progress does not count as hung when its leader is done and only a side-car runs.
func TestAReplicaThatIsDoneDoesNotHang(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2), builder.Progress(60, v1alpha1.StallRestart), builder.StartedAt(0), created, builder.RunsSince(0),
		builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0-1"}))
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0, builder.MainDone()), builder.Running("worker", 1), builder.Now(600*second)))
	if p.Status.Phase != v1alpha1.PhaseSucceeded || p.Status.Restarts > 0 {
		t.Errorf("the job is %s after %d restarts: %s", p.Status.Phase, p.Status.Restarts, p.Status.Message)
	}
}
