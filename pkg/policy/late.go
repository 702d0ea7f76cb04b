package policy

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

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
	deadline := startupDeadline(s)
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

// restartForTime returns the ruling on a deadline that has passed. No replica has failed by itself. A rule may restart less for a hang: the time of
// other deadlines counts from the start of the attempt, and only another attempt has new time.
func restartForTime(s *state.Snapshot, f v1alpha1.Failure) *Ruling {
	incident := failure.NewIncident(s, f, v1alpha1.ScopeJob, nil)
	if f.Reason != v1alpha1.ReasonProgressStalled {
		incident.Scope = v1alpha1.ScopeJob
	}
	return restart(s, []failure.Incident{incident})
}

// startupDeadline returns when the present attempt should run; zero if there is no deadline. The time of preflight checks does not count: no
// replica begins before the slowest check has ended, and a check limits its own time. With the successor of a replica whose check failed, the time
// begins again.
func startupDeadline(s *state.Snapshot) time.Time {
	limit := s.Job.Spec.RunPolicy.StartupDeadlineSeconds
	if limit == nil {
		return time.Time{}
	}
	var checks time.Duration
	for r := range s.Replicas() {
		switch {
		case r.Pod == nil || !state.IsNeeded(r.Slot.Role):
		case r.Pod.Checking:
			return time.Time{}
		default:
			checks = max(checks, r.Pod.CheckedFor)
		}
	}
	deadline := sinceBegin(s, *limit)
	if deadline.IsZero() {
		return deadline
	}
	for n := range s.Job.Status.Incidents {
		if i := &s.Job.Status.Incidents[n]; i.Reason == v1alpha1.ReasonPreflightFailed && i.Attempt == s.Job.Status.Attempt && state.IsNeeded(i.Role) {
			deadline = state.Latest(deadline, state.Latest(i.RestartTime.Time, s.NextStart(failure.SlotOf(&i.Failure))).Add(time.Duration(*limit)*time.Second))
		}
	}
	return deadline.Add(checks)
}

// sinceBegin returns the time so many seconds after the present attempt could begin. It returns zero if it could not begin yet: old pods are still
// ending, or the API server admits no pod, for example because of a quota. A restart would fix neither.
func sinceBegin(s *state.Snapshot, seconds int32) time.Time {
	first, found := s.FirstCreated()
	lacksGroups := s.AttemptMayBegin() && s.Gang.Unavailable != ""
	if s.Job.Status.StartTime == nil || !found && !lacksGroups {
		return time.Time{}
	}
	return state.Latest(first, attemptStart(s.Job)).Add(time.Duration(seconds) * time.Second)
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
