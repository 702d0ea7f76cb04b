package plan_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A pod has exited with 0, and is removed before the operator reads it: the last version from the watch counts.
func TestASuccessThatWasSeenIsNeverLost(t *testing.T) {
	started := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0-1"})
	for name, job := range map[string]*v1alpha1.TrainingJob{
		"its start was written down":     builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0), created, started),
		"its start was not written down": builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0), created),
	} {
		p := plan.Make(builder.Snapshot(job, builder.SeenEnded("worker", 0, corev1.PodSucceeded, builder.Exit(0)), builder.Running("worker", 1)))
		if p.Status.Phase != v1alpha1.PhaseSucceeded || p.Status.Restarts != 0 {
			t.Errorf("%s: the job is %s after %d restarts: %s", name, p.Status.Phase, p.Status.Restarts, p.Status.Message)
		}
	}
}

// The same for a crash: it is the program's failure, not a deletion.
func TestAFailureThatWasSeenIsNoLoss(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), created, builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0-1"}))
	p := plan.Make(builder.Snapshot(job, builder.SeenEnded("worker", 1, corev1.PodFailed, builder.Exit(3)), builder.Running("worker", 0)))
	if f := p.Status.LastFailure; f == nil || f.ExitCode == nil || *f.ExitCode != 3 || p.Status.ChargedRestarts != 1 {
		t.Errorf("%d charged restarts after %+v", p.Status.ChargedRestarts, f)
	}
}

// A pod had a node and is gone before the operator saw it run. Its process may have begun, so the next pod has its own number.
func TestAPodThatIsGoneBeforeItRanGetsItsNextLife(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), created)
	for name, seen := range map[string]builder.SnapshotOption{
		"it was seen to go":                     builder.SeenEnded("worker", 1, corev1.PodPending, builder.On("n1")),
		"it was deleted":                        builder.Pending("worker", 1, builder.On("n1"), builder.DeletedAt(30*second)),
		"this process looks for the first time": builder.FirstLook(),
	} {
		p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), seen))
		if p.Status.Memory.Lives != 1 || len(p.Steps) > 0 || p.Status.Restarts != 0 {
			t.Errorf("%s: lives %d, %d restarts, steps %v", name, p.Status.Memory.Lives, p.Status.Restarts, lines(p.Steps))
		}
	}
}

// The same while a pod of a former life still ends: the pod of the present life may have run and gone before this process began.
func TestAPodThatThisProcessNeverSawGetsItsNextLife(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), created, builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"}))
	p := plan.Make(builder.Snapshot(job, builder.FirstLook(), builder.Running("worker", 0), builder.Running("worker", 1, builder.Life(0, 0))))
	if p.Status.Memory.Lives != 1 {
		t.Errorf("lives %d, want 1", p.Status.Memory.Lives)
	}
}

// A pod that had a node and is gone may have run. Its slot gets another life also if the job has lost and regained the slot meanwhile.
func TestAPodThatIsGoneFromARemovedSlotGetsItsNextLife(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.Elastic(1, 4), builder.StartedAt(0), created)
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Gone("worker", 1)))
	if got := p.Status.Memory.Roles[v1alpha1.Worker].Replacements; got != "1:1" {
		t.Errorf("replacements %q, want 1:1", got)
	}
}

// A succeeded replica never runs again, but one that scaling removed begins anew when it comes back.
func TestAWorkerThatSucceededAndWasScaledAwayComesBack(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.Elastic(1, 4), builder.StartedAt(0), created,
		builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0-2", Succeeded: "2"}))
	fewer := after(t, builder.Snapshot(job, builder.Running("worker", 0), builder.Running("worker", 1)))
	more := fewer.DeepCopy()
	builder.Workers(3)(more)
	p := plan.Make(builder.Snapshot(more, builder.Running("worker", 0), builder.Running("worker", 1)))
	if got := lines(p.Steps); len(got) != 1 || got[0] != "create j-worker-2-a0r1" {
		t.Errorf("steps %v", got)
	}
}

var created = builder.Condition(v1alpha1.ConditionCreated, true, v1alpha1.ReasonJobCreated, 0)
