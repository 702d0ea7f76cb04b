package policy

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// succeeded rules because the job's success is that of its leader, or of its leader and all workers.
func succeeded(s *state.Snapshot) (*Verdict, time.Time) {
	if s.Job.Spec.SuccessPolicy == v1alpha1.SuccessAllWorkers {
		for _, slot := range s.Slots() {
			if isAwaited(&s.Job.Spec, slot) && !HasSucceeded(s, slot) && !s.IsParked(slot) {
				return nil, time.Time{}
			}
		}
		return &Verdict{Ruling: Succeed, Reason: v1alpha1.ReasonAllWorkersSucceeded,
			Message: "The leader and all workers exited with code 0."}, time.Time{}
	}
	leader := state.Leader(&s.Job.Spec)
	if !HasSucceeded(s, leader) {
		return nil, time.Time{}
	}
	return &Verdict{Ruling: Succeed, Reason: v1alpha1.ReasonLeaderSucceeded,
		Message: fmt.Sprintf("%s leads the job and exited with code 0.", leader)}, time.Time{}
}

// isAwaited reports whether the job waits for the slot's success.
func isAwaited(spec *v1alpha1.TrainingJobSpec, slot state.Slot) bool {
	if spec.SuccessPolicy == v1alpha1.SuccessAllWorkers {
		return slot.Role.IsLeader() || slot.Role == v1alpha1.Worker
	}
	return slot == state.Leader(spec)
}

// HasSucceeded reports whether the slot has succeeded, now or according to the status.
func HasSucceeded(s *state.Snapshot, slot state.Slot) bool {
	if s.HasSucceeded(slot) {
		return true
	}
	p := s.Present(slot)
	return p != nil && p.Phase == corev1.PodSucceeded && !endedByDeletion(p) &&
		(s.Job.Spec.ReplicaSpecs[slot.Role].RestartPolicy != v1alpha1.RestartAlways || isAwaited(&s.Job.Spec, slot))
}

// endedByDeletion reports whether the pod was told to end before it had ended by itself: its exit code 0 then
// says that it left in good order, not that its work is done. In the same second, most end because they were told to.
func endedByDeletion(p *state.Pod) bool {
	ended := p.Finished
	if p.Exit != nil {
		ended = p.Exit.Time
	}
	return !p.Deleted.IsZero() && (ended.IsZero() || !ended.Before(p.Deleted))
}
