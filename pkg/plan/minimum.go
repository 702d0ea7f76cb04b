package plan

import (
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// terms returns on which terms the job's gang is scheduled now.
func terms(s *state.Snapshot) state.GangTerms {
	t := state.GangTerms{
		Together: policy.IsCollective(&s.Job.Spec) && s.Job.Spec.Elastic == nil,
	}
	if s.Job.Spec.Scheduling != nil {
		t.Scheduling = *s.Job.Spec.Scheduling
	}
	if own := s.Job.Spec.ReplicaSpecs[state.Leader(&s.Job.Spec).Role].Template.Spec.PriorityClassName; own != "" {
		t.Scheduling.PriorityClassName = own
	}
	least := minAvailable(&s.Job.Spec)
	for _, slot := range s.Slots() {
		if t.Minimum < least && s.IsWanted(slot) && !policy.HasSucceeded(s, slot) {
			t.Minimum++
		}
	}
	return t
}

// minAvailable returns how many pods must fit at once while no replica has finished.
func minAvailable(spec *v1alpha1.TrainingJobSpec) int32 {
	if spec.Scheduling != nil && spec.Scheduling.MinAvailable != nil {
		return *spec.Scheduling.MinAvailable
	}
	total := int32(state.Total(spec))
	if spec.Elastic != nil {
		total -= spec.Replicas(v1alpha1.Worker) - spec.Elastic.MinReplicas
	}
	return total
}

// indispensableFirst returns the missing slots without those that an elastic gang can do without, as long as fewer pods than its
// minimum have nodes. Its scheduler would take any of them for the minimum, and the job runs with none that lacks worker 0.
func indispensableFirst(s *state.Snapshot, missing []state.Slot) []state.Slot {
	if !s.IsGang() || s.Job.Spec.Elastic == nil {
		return missing
	}
	var counted []state.Slot
	placed := 0
	for _, slot := range s.Slots() {
		if !s.IsWanted(slot) || policy.HasSucceeded(s, slot) {
			continue
		}
		counted = append(counted, slot)
		if p := s.Present(slot); p != nil && p.Scheduled() {
			placed++
		}
	}
	minimum := int(terms(s).Minimum)
	if placed >= minimum {
		return missing
	}
	workers := slices.DeleteFunc(slices.Clone(counted), func(slot state.Slot) bool { return slot.Role != v1alpha1.Worker })
	dispensable := workers[max(0, len(workers)-(len(counted)-minimum)):]
	return slices.DeleteFunc(missing, func(slot state.Slot) bool { return slices.Contains(dispensable, slot) })
}
