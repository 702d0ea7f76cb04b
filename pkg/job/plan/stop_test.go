package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// training is a job of two ranks that have run since 0 s and get 10 s to save a checkpoint before they are stopped.
func training(options ...builder.JobOption) *v1alpha1.TrainingJob {
	return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(2), builder.StartedAt(0), builder.RunsSince(0), builder.Asking(10)}, options...)...)
}

// both are two running ranks with the text in their files.
func both(text string, more ...builder.SnapshotOption) []builder.SnapshotOption {
	return append(seen(builder.Now(16*second), builder.Reported(7, 14*second), builder.Running("worker", 0, builder.Asked(text)), builder.Running("worker", 1, builder.Asked(text))), more...)
}

func TestWhoIsAskedForACheckpoint(t *testing.T) {
	const text = "0-1 SuspendedBySpec 2026-01-05T12:00:25Z"
	resting := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	set := func(what string) []string {
		return []string{"set request of j-worker-0: " + what, "set request of j-worker-1: " + what}
	}
	asked := []builder.JobOption{builder.Suspended(), builder.CheckpointRequested(15 * second)}
	checkSteps(t, []stepCase{
		{"no rank before the status has the request", training(builder.Suspended()), both(""), nil, 26 * second},
		{"every rank, once it does", training(asked...), both(""), set(text), 17 * second},
		{"once", training(asked...), both(text), nil, 17 * second},
		{"once more after two seconds, because a kubelet may have missed it", training(asked...), both(text, builder.Now(17*second)), set(text + " again"), 25 * second},
		{"and no more", training(asked...), both(text+" again", builder.Now(17*second)), nil, 25 * second},
		{"no rank once they need not stop", training(builder.CheckpointRequested(15 * second)), both(text), nil, 17 * second},
		{"both ranks get it", training(), both(text), set("none"), 10*time.Minute + 14*second},
		{"no rank joins them in the meantime", training(append(asked, builder.Workers(3), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "2:1"}))...),
			both(text), nil, 17 * second},
		{"when they are stopped, nothing is taken back", training(builder.Suspended(), resting), both(text),
			[]string{"delete j-worker-0: the job is suspended", "delete j-worker-1: the job is suspended"}, 0},
	})
}

func TestRanksThatAreTakenAwayHaveTheirTime(t *testing.T) {
	fewer := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return training(append([]builder.JobOption{builder.Elastic(1, 3), builder.Workers(1)}, options...)...)
	}
	p := plan.Make(builder.Snapshot(fewer(), both("")...))
	if p.Status.CheckpointRequest == nil || len(p.Steps) > 0 || p.Status.Memory.Roles[v1alpha1.Worker].Replacements != "" {
		t.Errorf("plans %v, want worker 1 to stay while the ranks save a checkpoint", p)
	}
	checkSteps(t, []stepCase{
		{"they are asked first", fewer(builder.CheckpointRequested(15 * second)), both(""), []string{
			"set request of j-worker-0: 0-1 SuspendedBySpec 2026-01-05T12:00:25Z", "set request of j-worker-1: 0-1 SuspendedBySpec 2026-01-05T12:00:25Z"}, 17 * second},
		{"one that has its next life is deleted", fewer(builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"})), seen(builder.Now(16*second), builder.Reported(7, 14*second), builder.Running("worker", 0), builder.Running("worker", 1, builder.Life(0, 0))),
			[]string{"delete j-worker-1: its life is past"}, 10*time.Minute + 14*second},
	})
	p = plan.Make(builder.Snapshot(fewer(builder.CheckpointRequested(15*second)), both("", builder.SavedFor("0-1"))...))
	if p.Status.CheckpointRequest != nil || p.Status.Memory.Roles[v1alpha1.Worker].Replacements != "1:1" {
		t.Errorf("plans %v, want worker 1 to have its next life once they have answered", p)
	}
}

func TestWhatIsToldOfRequestsToStop(t *testing.T) {
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		seen []builder.SnapshotOption
		want []string
	}{
		"that they must save": {training(builder.Suspended()), both(""), []string{
			"Normal CheckpointRequested SuspendedBySpec: The ranks must save a checkpoint before they are stopped (SuspendedBySpec), by 12:00:26 UTC."}},
		"that they still are, not again": {training(builder.Suspended(), builder.CheckpointRequested(15*second)), both(""), nil},
		"that they have saved": {training(builder.Suspended(), builder.CheckpointRequested(15*second)), both("", builder.SavedFor("0-1")), []string{
			"Normal CheckpointSaved SuspendedBySpec: The ranks have saved step 7 in step-7 and are stopped."}},
		"that they have not": {training(builder.Suspended(), builder.CheckpointRequested(15*second)), both("", builder.Now(25*second)), []string{
			"Warning CheckpointMissed SuspendedBySpec: No rank has confirmed a checkpoint: the ranks are stopped 10s after the request."}},
		"that it came to nothing, not": {training(builder.CheckpointRequested(15 * second)), both(""), nil},
	} {
		var got []string
		for _, e := range plan.Make(builder.Snapshot(c.job, c.seen...)).Events {
			if e.Reason == v1alpha1.EventCheckpointRequested || e.Reason == v1alpha1.EventCheckpointSaved || e.Reason == v1alpha1.EventCheckpointMissed {
				got = append(got, e.Type+" "+e.Reason+" "+e.Action+": "+e.Message)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A job that is suspended and changed keeps its old pods while their ranks save a checkpoint. If it resumes then, that shows.
func TestAJobThatIsChangedWhileItsRanksAreAskedIsNotResumedUnseen(t *testing.T) {
	changed := training(builder.Suspended())
	shape := plan.Make(builder.Snapshot(training(), both("")...)).Status.Memory.Shape
	changed.Generation, changed.Status.ObservedGeneration, changed.Status.Memory.Shape = 2, 1, shape
	builder.Workers(2, builder.Env("LEARNING_RATE", "0.1"))(changed)
	asked := after(t, builder.Snapshot(changed, both("")...))
	if got := asked.Status; got.CheckpointRequest == nil || got.Memory.Shape != shape || got.ObservedGeneration != 2 {
		t.Fatalf("request %+v, shape %s, generation %d, want the shape of the pods (%s)", got.CheckpointRequest, got.Memory.Shape, got.ObservedGeneration, shape)
	}
	stopped := after(t, builder.Snapshot(asked, both("", builder.SavedFor(asked.Status.CheckpointRequest.ID))...))
	if got := stopped.Status; got.Phase != v1alpha1.PhaseSuspended || got.Memory.Shape == shape {
		t.Errorf("%s, shape %s, want to be suspended with the new one", got.Phase, got.Memory.Shape)
	}
	asked.Spec.Suspend, asked.Generation = nil, 3
	resumed := after(t, builder.Snapshot(asked, both("")...))
	if got := resumed.Status; got.CheckpointRequest == nil || got.Memory.Shape != shape || got.Phase != v1alpha1.PhaseRunning {
		t.Errorf("resumed: %s, request %+v, shape %s, want the ranks to save first", got.Phase, got.CheckpointRequest, got.Memory.Shape)
	}
	saved := plan.Make(builder.Snapshot(resumed, both("", builder.SavedFor(asked.Status.CheckpointRequest.ID))...)).Status
	if saved.Phase != v1alpha1.PhaseSuspended || saved.Reason != v1alpha1.ReasonFormerPodsEnding {
		t.Errorf("resumed and saved: %s %s, want the old pods to end first", saved.Phase, saved.Reason)
	}
}

// While the ranks save a checkpoint the job runs, and shows what it waits for.
func TestAJobWhoseRanksAreAskedRuns(t *testing.T) {
	status := plan.Make(builder.Snapshot(training(builder.Suspended(), builder.CheckpointRequested(15*second)), both("")...)).Status
	const want = "Waiting for the ranks to save a checkpoint, because the job is to be suspended. They are stopped after they have saved it, at the latest at 12:00:25 UTC."
	if status.Phase != v1alpha1.PhaseRunning || status.Reason != v1alpha1.ReasonCheckpointRequested || status.Message != want {
		t.Errorf("%s %s: %s", status.Phase, status.Reason, status.Message)
	}
}
