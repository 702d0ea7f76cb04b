package policy

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// late rules because an attempt has failed to start: not all its replicas run in time.
func late(s *state.Snapshot) (*Ruling, time.Time) {
	missing := blocksRunning(s)
	if missing == nil || s.Is(v1alpha1.ConditionRunning) || s.Is(v1alpha1.ConditionSuspended) {
		return nil, time.Time{}
	}
	deadline := startupDeadline(s, missing.Slot)
	switch {
	case deadline.IsZero():
		return nil, time.Time{}
	case s.Now.Before(deadline):
		return nil, deadline
	}
	message := fmt.Sprintf("not running %d s after the start of the attempt", *s.Job.Spec.RunPolicy.StartupDeadlineSeconds)
	switch refused := whyRefused(s, missing); {
	case refused != "":
		message += ": " + refused
	case missing.Pod != nil && missing.Pod.Waiting.Reason != "":
		message += ": " + missing.Pod.Waiting.Reason + ": " + state.Quote(missing.Pod.Waiting.Message)
	}
	return restartForTime(s, failure.At(s, missing, v1alpha1.CauseStartup, v1alpha1.ReasonStartupDeadline, message)), time.Time{}
}

// whyRefused returns why the API server refuses the replica's pod, for example because of a quota; empty if the pod exists.
func whyRefused(s *state.Snapshot, r *state.Replica) string {
	if r.Pod != nil || s.Refusal == nil || s.Refusal.Reason == "" {
		return ""
	}
	return s.Refusal.Reason + ": " + state.Quote(s.Refusal.Message)
}

// restartForTime returns the ruling on a deadline that has passed. No replica has failed by itself.
func restartForTime(s *state.Snapshot, f v1alpha1.Failure) *Ruling {
	return restart(s, []failure.Incident{failure.NewIncident(s, f, v1alpha1.ScopeJob, nil)})
}

// startupDeadline returns when the slot should run in the present attempt; zero if there is no deadline. The time of preflight checks does
// not count: no replica begins before the slowest check has ended, and a check limits its own time.
func startupDeadline(s *state.Snapshot, slot state.Slot) time.Time {
	limit := s.Job.Spec.RunPolicy.StartupDeadlineSeconds
	if limit == nil {
		return time.Time{}
	}
	deadline := sinceBegin(s, slot, *limit)
	for r := range s.Replicas() {
		switch {
		case deadline.IsZero() || r.Pod == nil:
		case r.Pod.Checking:
			return time.Time{}
		case !r.Pod.Checked.IsZero():
			deadline = state.Latest(deadline, r.Pod.Checked.Add(time.Duration(*limit)*time.Second))
		}
	}
	return deadline
}

// sinceBegin returns the time so many seconds after the slot could begin in the present attempt. It returns zero if the slot
// could not begin yet: old pods are still ending, or the API server admits no pod, for example because of a quota. A restart
// would fix neither.
func sinceBegin(s *state.Snapshot, slot state.Slot, seconds int32) time.Time {
	if s.Job.Status.StartTime == nil {
		return time.Time{}
	}
	first, found := firstCreated(s)
	if lacksGroups := s.AttemptMayBegin() && s.Gang.Unavailable != ""; !found && !lacksGroups {
		return time.Time{}
	}
	begin := state.Latest(first, state.Latest(attemptStart(s.Job), s.NextStart(slot)))
	return begin.Add(time.Duration(seconds) * time.Second)
}

// firstCreated returns when the first pod of the present attempt was created; found is false if there is none.
func firstCreated(s *state.Snapshot) (first time.Time, found bool) {
	for r := range s.Replicas() {
		if r.Pod != nil {
			first, found = state.Earliest(first, r.Pod.Created), true
		}
	}
	return first, found
}

// attemptStart returns when the present attempt could create its pods.
func attemptStart(job *v1alpha1.TrainingJob) time.Time {
	start := job.Status.StartTime.Time
	if next := job.Status.NextStartTime; next != nil && next.After(start) {
		start = next.Time
	}
	resumed := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionSuspended)
	if resumed != nil && resumed.LastTransitionTime.After(start) {
		start = resumed.LastTransitionTime.Time
	}
	return start
}

// longestCount returns the longest deadline that a rule counts from the beginning of a life.
func longestCount(s *state.Snapshot) time.Duration {
	var longest time.Duration
	if s.Job.Spec.Progress != nil {
		longest = max(longest, state.StallAfter(s.Job.Spec.Progress))
	}
	for _, limit := range []*int32{s.Job.Spec.RunPolicy.StartupDeadlineSeconds, schedulingTimeout(s.Job)} {
		longest = max(longest, time.Duration(ptr.Deref(limit, 0))*time.Second)
	}
	return longest
}
