package policy

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// calm is how long a job must run for its next back-off to start anew.
const calm = 10 * time.Minute

// backOff returns how long to wait before a restart: recovery.backoffSeconds, doubled for each restart since the job
// last ran calmly. The first lost pod is replaced at once.
func backOff(s *state.Snapshot, cause v1alpha1.Cause) time.Duration {
	row := ConsecutiveRestarts(s)
	if row == 0 && isLoss(cause) {
		return 0
	}
	recovery := &s.Job.Spec.Recovery
	delay := time.Duration(ptr.Deref(recovery.BackoffSeconds, v1alpha1.DefaultBackoffSeconds)) * time.Second
	limit := time.Duration(ptr.Deref(recovery.MaxBackoffSeconds, v1alpha1.DefaultMaxBackoffSeconds)) * time.Second
	for range row {
		if delay *= 2; delay >= limit {
			return limit
		}
	}
	return min(delay, limit)
}

// ConsecutiveRestarts returns the number of restarts since the job last ran calmly.
func ConsecutiveRestarts(s *state.Snapshot) int32 {
	if since := undisturbedSince(s.Job); !since.IsZero() && s.Now.Sub(since) >= calm {
		return 0
	}
	return s.Job.Status.ConsecutiveRestarts
}

// undisturbedSince returns since when the job runs with no replica of it replaced; zero if it does not run.
func undisturbedSince(job *v1alpha1.TrainingJob) time.Time {
	running := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionRunning)
	if running == nil || running.Status != "True" {
		return time.Time{}
	}
	if next := job.Status.NextStartTime; next != nil && next.After(running.LastTransitionTime.Time) {
		return next.Time
	}
	return running.LastTransitionTime.Time
}
