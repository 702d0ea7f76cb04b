package policy

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// heldBack returns the verdict to wait, if v restarts peers of a member that is still starting: an attempt that never ran
// must not be broken off for those who were not patient enough, or a slow image would restart the job for ever. It waits
// no longer than startupDeadlineSeconds.
func heldBack(s *state.Snapshot, v *Verdict) (held *Verdict, until time.Time) {
	if v.Ruling != Restart || meta.IsStatusConditionTrue(s.Job.Status.Conditions, v1alpha1.ConditionRunning) {
		return nil, time.Time{}
	}
	for i := range v.Restarts {
		slot, found := stillStarting(s, &v.Restarts[i])
		if !found {
			continue
		}
		if deadline := startupDeadline(s, slot); deadline.IsZero() || s.Now.Before(deadline) {
			return &Verdict{Ruling: Continue, Reason: v1alpha1.ReasonRestartHeld, Message: clip(fmt.Sprintf(
				"%s; the restart waits for %s, which is still starting (%s).", Describe(&v.Restarts[i].Failure), slot, s.Present(slot).Waiting.Reason))}, deadline
		}
	}
	return nil, time.Time{}
}

// stillStarting returns a member that the order would restart while its node prepares its containers.
func stillStarting(s *state.Snapshot, o *RestartOrder) (slot state.Slot, found bool) {
	if o.Scope == v1alpha1.ScopeReplica {
		return state.Slot{}, false
	}
	for _, slot := range s.Slots() {
		restarted := slot.Role == o.Failure.Role
		if o.Scope == v1alpha1.ScopeJob {
			restarted = slot.Role != v1alpha1.Evaluator
		}
		p := s.Present(slot)
		if restarted && p != nil && p.Scheduled() && p.Phase == corev1.PodPending && p.Deleted.IsZero() && !IsBroken(s, slot) {
			return slot, true
		}
	}
	return state.Slot{}, false
}
