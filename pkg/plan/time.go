package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// keepRunningTime adds up how long the job ran when a run ends: a run that a failure ended was over when the replica failed,
// not when that was noticed.
func keepRunningTime(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	if meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionRunning) {
		return
	}
	until := s.Now
	if v.Failure != nil {
		until = v.Failure.Time.Time
	}
	next.RunningSeconds = s.Job.Status.RunningSeconds + int64(presentRun(s, until).Seconds())
}

// presentRun returns for how long the job has been running without a break until then.
func presentRun(s *state.Snapshot, until time.Time) time.Duration {
	c := meta.FindStatusCondition(s.Job.Status.Conditions, v1alpha1.ConditionRunning)
	if c == nil || c.Status != metav1.ConditionTrue {
		return 0
	}
	return max(0, until.Truncate(time.Second).Sub(c.LastTransitionTime.Time))
}

// runningTimeRatio returns the time that the job ran over the time from its start to its end or now, suspensions left out:
// "0.973".
func runningTimeRatio(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) string {
	if next.StartTime == nil {
		return ""
	}
	until := s.Now.Truncate(time.Second)
	if next.CompletionTime != nil {
		until = next.CompletionTime.Time
	}
	total := until.Sub(next.StartTime.Time) - state.SuspendedFor(s.Job, until)
	if total < time.Second {
		return ""
	}
	ran := time.Duration(next.RunningSeconds) * time.Second
	if meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionRunning) {
		ran += presentRun(s, s.Now)
	}
	return fmt.Sprintf("%.3f", min(1, ran.Seconds()/total.Seconds()))
}
