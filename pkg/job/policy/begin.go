package policy

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// sinceBegin returns the time so many seconds after the present attempt could begin. It returns zero if it could not begin yet: old pods are still
// ending, or the API server admits no pod, for example because of a quota. A restart would fix neither.
func sinceBegin(s *state.Snapshot, seconds int32) time.Time {
	first, found := s.FirstCreated()
	lacksGroups := s.AttemptMayBegin() && s.Gang.Unavailable != ""
	if s.Job.Status.StartTime == nil || !found && !lacksGroups {
		return time.Time{}
	}
	return state.Latest(first, attemptStart(s)).Add(time.Duration(seconds) * time.Second)
}

// attemptStart returns when the present attempt could create its pods.
func attemptStart(s *state.Snapshot) time.Time {
	start := state.Latest(s.Job.Status.StartTime.Time, s.NextAttempt())
	if resumed := meta.FindStatusCondition(s.Job.Status.Conditions, v1alpha1.ConditionSuspended); resumed != nil {
		start = state.Latest(start, resumed.LastTransitionTime.Time)
	}
	return start
}

// whyRefused returns why the API server refuses the replica's pod; empty if it does not.
func whyRefused(s *state.Snapshot, r *state.Replica) string {
	if refusal := s.RefusalOf(r); refusal != nil {
		return refusal.Reason + ": " + state.Quote(refusal.Message)
	}
	return ""
}
