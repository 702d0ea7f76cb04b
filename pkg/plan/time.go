package plan

import (
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

// keepLostTime adds up the time since the last count by what the job waited for. The old status shows what that was.
func keepLostTime(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	was, now := &s.Job.Status, s.Now.Truncate(time.Second)
	since := s.Job.CreationTimestamp.Time
	if was.Memory.CountedTime != nil {
		since = was.Memory.CountedTime.Time
	}
	next.Memory.CountedTime = &metav1.Time{Time: now}
	passed := int64(max(0, now.Sub(since)).Seconds())
	lost := &next.LostSeconds
	running := presentRun(s, now)
	switch {
	case meta.IsStatusConditionTrue(was.Conditions, v1alpha1.ConditionQueued):
		lost.Queue += passed
	case was.StartTime == nil || meta.IsStatusConditionTrue(was.Conditions, v1alpha1.ConditionSuspended):
	case s.Is(v1alpha1.ConditionRunning):
		if was.Memory.RedoStep > 0 {
			lost.Redone += passed
		}
		if v.Failure != nil && !meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionRunning) {
			lost.Detection += int64((running - presentRun(s, v.Failure.Time.Time)).Seconds())
		}
	case isStopping(was):
		lost.Restart += passed
	case meta.IsStatusConditionFalse(was.Conditions, v1alpha1.ConditionScheduled):
		lost.Nodes += passed
	default:
		lost.Starting += passed
	}
}

// isStopping reports whether old pods are still ending, or the next pods may not be created yet.
func isStopping(status *v1alpha1.TrainingJobStatus) bool {
	restarting := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRestarting)
	running := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRunning)
	if restarting == nil || restarting.Status != metav1.ConditionTrue || running == nil {
		return false
	}
	return running.Reason == restarting.Reason || running.Reason == v1alpha1.ReasonBackOff || running.Reason == v1alpha1.ReasonFormerPodsEnding
}

// keepRedoStep notes at a whole-job restart which step was reached, and forgets it when the next attempt has got there again.
func keepRedoStep(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) {
	since := meta.FindStatusCondition(s.Job.Status.Conditions, v1alpha1.ConditionRunning)
	switch {
	case next.Attempt > s.Job.Status.Attempt:
		next.Memory.RedoStep = s.HighestStep()
	case since != nil && s.Is(v1alpha1.ConditionRunning) && s.Progress.Renewed.After(since.LastTransitionTime.Time) && s.Progress.Step >= next.Memory.RedoStep:
		next.Memory.RedoStep = 0
	}
}
