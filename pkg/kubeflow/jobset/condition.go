package jobset

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of conditions. Source: api/jobset/v1alpha2/jobset_types.go of JobSet 0.12.
const (
	completed         = "Completed"
	failed            = "Failed"
	suspended         = "Suspended"
	restarting        = "RestartingJobSet"
	startupInProgress = "StartupPolicyInProgress"
	startupCompleted  = "StartupPolicyCompleted"
	// stalled is a condition of this operator alone: the JobSet has no TrainingJob until a user acts. It is removed then.
	stalled = "Stalled"
)

// The reasons and words of conditions. Source: pkg/constants/constants.go of JobSet 0.12.
const (
	reasonCompleted  = "AllJobsCompleted"
	wordsCompleted   = "jobset completed successfully"
	reasonSuspended  = "SuspendedJobs"
	wordsSuspended   = "jobset is suspended"
	reasonResumed    = "ResumeJobs"
	wordsResumed     = "jobset is resumed"
	reasonInOrder    = "InOrderStartupPolicyInProgress"
	wordsInOrder     = "in order startup policy is in progress"
	reasonStarted    = "InOrderStartupPolicyCompleted"
	wordsStarted     = "in order startup policy has completed"
	reasonMax        = "ReachedMaxRestarts"
	wordsMax         = "jobset failed due to reaching max number of restarts"
	reasonFailedJobs = "FailedJobs"
	wordsFailedJobs  = "jobset failed due to one or more job failures"
	reasonFailRule   = "FailJobSetFailurePolicyAction"
	wordsFailRule    = "applying FailJobSet failure policy action"
	reasonRestart    = "DefaultFailurePolicy"
	wordsRestart     = "applying RestartJobSet failure policy action"
	reasonJobsReady  = "JobsReady"
	wordsJobsReady   = "all jobs are ready"
	reasonSetFailed  = "JobSetFailed"
	wordsSetFailed   = "jobset failed"
	reasonSetDone    = "JobSetCompleted"
	reasonSetHeld    = "JobSetSuspended"
	// reasonRefused is of this operator alone: it cannot serve the JobSet.
	reasonRefused = "FailedValidation"
)

// is reports whether the condition of that type is True.
func (s *Status) is(kind string) bool { return meta.IsStatusConditionTrue(s.Conditions, kind) }

// finishTime returns when the JobSet completed or failed; nil if it has not.
func (s *Status) finishTime() *metav1.Time {
	for _, kind := range []string{completed, failed} {
		if c := meta.FindStatusCondition(s.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
			return &c.LastTransitionTime
		}
	}
	return nil
}

// set sets a condition as JobSet's controller does: one that has never been True is not set to False, and of the two about the start one at most is True.
func (s *Status) set(now time.Time, c metav1.Condition) {
	known := meta.FindStatusCondition(s.Conditions, c.Type)
	if known == nil && c.Status == metav1.ConditionFalse {
		return
	}
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	meta.SetStatusCondition(&s.Conditions, c)
	for _, pair := range [][2]string{{startupInProgress, startupCompleted}, {startupCompleted, startupInProgress}} {
		if other := meta.FindStatusCondition(s.Conditions, pair[1]); c.Type == pair[0] && c.Status == metav1.ConditionTrue && other != nil {
			other.Status = metav1.ConditionFalse
		}
	}
}

// copied returns a copy of the status without Stalled.
func (s *Status) copied() Status {
	next := *s
	next.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c metav1.Condition) bool { return c.Type == stalled })
	return next
}
