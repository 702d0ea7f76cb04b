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
	running := meta.FindStatusCondition(s.Job.Status.Conditions, v1alpha1.ConditionRunning)
	if running == nil || running.Status != "True" {
		return s.Job.Status.ConsecutiveRestarts
	}
	since := running.LastTransitionTime.Time
	if next := s.Job.Status.NextStartTime; next != nil && next.After(since) {
		since = next.Time
	}
	if s.Now.Sub(since) >= calm {
		return 0
	}
	return s.Job.Status.ConsecutiveRestarts
}
