package policy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// IsRunning reports whether the slot's present pod runs.
func IsRunning(s *state.Snapshot, slot state.Slot) bool {
	p := s.Present(slot)
	return p != nil && p.Phase == corev1.PodRunning && p.Deleted.IsZero()
}

// FirstMissing returns the slot of the lowest rank without which the job does not run; ok is false if the job runs.
// Every replica must run or have succeeded; of elastic workers minReplicas must, with the one at which the others meet among
// them. Nobody waits for an evaluator: it looks at what the training leaves behind.
func FirstMissing(s *state.Snapshot) (missing state.Slot, ok bool) { return firstWithout(s, isUp) }

// firstWithout returns the slot of the lowest rank that does not have what it should, leaving as many workers out of account as
// an elastic job can do without.
func firstWithout(s *state.Snapshot, has func(*state.Snapshot, state.Slot) bool) (missing state.Slot, ok bool) {
	spare := 0
	if elastic := s.Job.Spec.Elastic; elastic != nil {
		spare = int(s.Job.Spec.Replicas(v1alpha1.Worker) - elastic.MinReplicas)
	}
	for _, slot := range s.Slots() {
		switch {
		case has(s, slot), slot.Role == v1alpha1.Evaluator:
		case slot.Role == v1alpha1.Worker && spare > 0 && !isMetAt(s, slot):
			spare--
		default:
			return slot, true
		}
	}
	return state.Slot{}, false
}

// isMetAt reports whether the ranks of an elastic collective cannot meet without the slot.
func isMetAt(s *state.Snapshot, slot state.Slot) bool {
	return IsCollective(&s.Job.Spec) && hostsRendezvous(&s.Job.Spec, slot.Role, slot.Index)
}

// FirstAbsent returns the slot of the lowest rank that does not run, whether or not the job can do without it; ok is false if all run.
func FirstAbsent(s *state.Snapshot) (absent state.Slot, ok bool) {
	i := slices.IndexFunc(s.Slots(), func(slot state.Slot) bool { return !isUp(s, slot) })
	if i < 0 {
		return state.Slot{}, false
	}
	return s.Slots()[i], true
}

func isUp(s *state.Snapshot, slot state.Slot) bool {
	if IsRunning(s, slot) || HasSucceeded(s, slot) || s.IsDone(slot) {
		return true
	}
	_, givenUp := GivenUp(s, slot)
	return givenUp
}
