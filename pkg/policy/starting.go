package policy

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// heldBack returns the verdict to wait, if v restarts peers of a member that is still starting: an attempt that never ran
// must not be broken off for those who were not patient enough, or a slow image would restart the job for ever. It waits
// no longer than startupDeadlineSeconds.
func heldBack(s *state.Snapshot, v *Verdict) (held *Verdict, until time.Time) {
	if v.Ruling != Restart || s.Is(v1alpha1.ConditionRunning) {
		return nil, time.Time{}
	}
	for n := range v.Restarts {
		r := stillStarting(s, &v.Restarts[n])
		if r == nil {
			continue
		}
		if deadline := startupDeadline(s, r.Slot); deadline.IsZero() || s.Now.Before(deadline) {
			return &Verdict{Ruling: Hold, Reason: v1alpha1.ReasonRestartHeld, Message: failure.WithMessage(&v.Restarts[n].Failure, fmt.Sprintf(
				"%s; the restart waits for %s, which is still starting (%s).", failure.Describe(&v.Restarts[n].Failure), r.Slot, r.Pod.Waiting.Reason))}, deadline
		}
	}
	return nil, time.Time{}
}

// stillStarting returns a member that the incident would restart while its node prepares its containers; nil if there is none.
func stillStarting(s *state.Snapshot, i *failure.Incident) *state.Replica {
	if i.Scope == v1alpha1.ScopeReplica {
		return nil
	}
	for r := range s.Replicas() {
		isMember := i.Scope == v1alpha1.ScopeJob && r.Slot.Role != v1alpha1.Evaluator || i.Scope == v1alpha1.ScopeRole && r.Slot.Role == i.Role
		if isMember && r.Condition == state.Starting {
			return r
		}
	}
	return nil
}
