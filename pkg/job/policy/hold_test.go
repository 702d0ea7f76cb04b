package policy_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// No later rule applies to a job on hold, although the deadline of a stall, at 60 s, is over.
func TestAStallDoesNotBreakAHold(t *testing.T) {
	stalls := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return training(append([]builder.JobOption{builder.Progress(60, v1alpha1.StallRestart), builder.Asking(30)}, options...)...)
	}
	asked := builder.CheckpointRequested(55 * second)
	drained := builder.Deleted("worker", 1, builder.Disrupted("EvictionByEvictionAPI", 55*second), builder.DeletedAt(55*second))
	held := judged{Ruling: policy.Hold, Reason: v1alpha1.ReasonCheckpointRequested}
	for name, c := range map[string]struct {
		job   *v1alpha1.TrainingJob
		other builder.SnapshotOption
		saved string
		want  judged
	}{
		"a suspension that waits for a checkpoint":   {stalls(builder.Suspended(), asked), builder.Running("worker", 1), "", held},
		"has it, and stops the ranks":                {stalls(builder.Suspended(), asked), builder.Running("worker", 1), "0-1", judged{Ruling: policy.Suspend, Reason: v1alpha1.ReasonSuspended}},
		"a drain that waits for a checkpoint":        {stalls(asked), drained, "", held},
		"a drain of a job that is to be suspended":   {stalls(builder.Suspended(), asked), drained, "", held},
		"a failure until the other ranks have ended": {stalls(), builder.Failed("worker", 1, builder.Exit(1), builder.At(60*second)), "", judged{Ruling: policy.Hold, Reason: v1alpha1.ReasonRestartHeld}},
	} {
		v := policy.Judge(builder.Snapshot(c.job, builder.Now(61*second), builder.Running("worker", 0), c.other, builder.SavedFor(c.saved)))
		if v.Kind != c.want.Ruling || v.Reason != c.want.Reason || len(v.Restarts) > 0 {
			t.Errorf("%s: ruling %d, %s: %s; want %+v", name, v.Kind, v.Reason, v.Message, c.want)
		}
	}
}

// The user's deadlines for the whole job, and its success, end a hold.
func TestWhatBreaksAHold(t *testing.T) {
	suspended := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return training(append([]builder.JobOption{builder.Suspended(), builder.CheckpointRequested(55 * second)}, options...)...)
	}
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		seen builder.SnapshotOption
		want string
	}{
		"activeDeadlineSeconds": {suspended(builder.Deadline(60)), builder.Running("worker", 0), v1alpha1.ReasonDeadlineExceeded},
		"success":               {suspended(), builder.Succeeded("worker", 0), v1alpha1.ReasonLeaderSucceeded},
	} {
		v := policy.Judge(builder.Snapshot(c.job, builder.Now(61*second), c.seen, builder.Running("worker", 1)))
		if v.Reason != c.want || v.Asked != nil {
			t.Errorf("%s: ruling %d, %s: %s; want %s", name, v.Kind, v.Reason, v.Message, c.want)
		}
	}
}
