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

// endedByDeletion reports whether the pod was told to end: its exit code then says how it left, not that its work is
// done, nor that it failed. Which came first nobody can tell: the API server moves the time of a deletion on when the
// kubelet confirms it, and the clocks of nodes differ. What had ended before was recorded before.
func endedByDeletion(p *state.Pod) bool { return !p.Deleted.IsZero() }
