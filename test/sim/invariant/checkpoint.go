package invariant

import "github.com/trainingjob/operator/apis/training/v1alpha1"

// checkCheckpoint: checkpointTime is when the checkpoint was first reported (docs/api.md). Further reports of it do not move it.
func (c *Checker) checkCheckpoint(was, now *v1alpha1.ProgressStatus) {
	if was == nil || now == nil || now.Checkpoint == "" || was.Checkpoint != now.Checkpoint {
		return
	}
	if !was.CheckpointTime.Equal(now.CheckpointTime) {
		c.violate("25 time is the observer's: %s was first reported at %v, and then at %v", now.Checkpoint, was.CheckpointTime, now.CheckpointTime)
	}
}
