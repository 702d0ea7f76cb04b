package policy

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// late rules because an attempt has failed to start: not all its replicas run in time.
func late(s *state.Snapshot) (*Ruling, time.Time) {
	missing := blocksRunning(s)
	if missing == nil || s.Is(v1alpha1.ConditionRunning) || s.IsSuspended() {
		return nil, time.Time{}
	}
	deadline := startupDeadline(s)
	if deadline.IsZero() || s.Now.Before(deadline) {
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
		case r.Pod.Checks.Running:
			return time.Time{}
		default:
			checks = max(checks, r.Pod.Checks.Took)
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
