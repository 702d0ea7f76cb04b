package plan

import (
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// terms returns on which terms the job's gang is scheduled now.
func terms(s *state.Snapshot) state.GangTerms {
	t := state.GangTerms{
		Together: state.IsCollective(&s.Job.Spec) && s.Job.Spec.Elastic == nil,
	}
	if s.Job.Spec.Scheduling != nil {
		t.Scheduling = *s.Job.Spec.Scheduling
	}
	if own := s.Job.Spec.ReplicaSpecs[state.Leader(&s.Job.Spec).Role].Template.Spec.PriorityClassName; own != "" {
		t.Scheduling.PriorityClassName = own
	}
	least := minAvailable(&s.Job.Spec)
	for r := range s.Replicas() {
		if t.Minimum < least && r.NeedsPod() && state.IsNeeded(r.Slot.Role) {
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
	total := int32(0)
	for role := range spec.ReplicaSpecs {
		if state.IsNeeded(role) {
			total += spec.Replicas(role)
		}
	}
	if spec.Elastic != nil {
		total -= spec.Replicas(v1alpha1.Worker) - spec.Elastic.MinReplicas
	}
	return total
}

// members returns which of the replicas are of the gang.
func members(replicas []*state.Replica) []*state.Replica {
	return slices.DeleteFunc(slices.Clone(replicas), func(r *state.Replica) bool { return !state.IsNeeded(r.Slot.Role) })
}

// indispensableFirst returns the missing replicas without those that a gang can do without, as long as fewer pods than its minimum have nodes. An
// evaluator would take a node that the gang needs. Of elastic workers the scheduler would take any for the minimum, and the job runs with none
// that lacks worker 0.
func indispensableFirst(s *state.Snapshot, missing []*state.Replica) []*state.Replica {
	if !s.IsGang() {
		return missing
	}
	if slices.ContainsFunc(slices.Collect(s.Replicas()), func(r *state.Replica) bool { return state.IsNeeded(r.Slot.Role) && r.LacksNode() }) {
		missing = members(missing)
	}
	if s.Job.Spec.Elastic == nil {
		return missing
	}
	needed, placed := 0, 0
	var workers []*state.Replica
	for r := range s.Replicas() {
		if !r.NeedsPod() || !state.IsNeeded(r.Slot.Role) {
			continue
		}
		needed++
		if r.HasNode() {
			placed++
		}
		if r.Slot.Role == v1alpha1.Worker {
			workers = append(workers, r)
		}
	}
	minimum := int(terms(s).Minimum)
	if placed >= minimum || len(workers) == 0 {
		return missing
	}
	// workers are in the order of their indexes: those that the gang can do without are the last
	canMiss := min(needed-minimum, len(workers))
	if canMiss == 0 {
		return missing
	}
	from := workers[len(workers)-canMiss].Slot.Index
	return slices.DeleteFunc(missing, func(r *state.Replica) bool { return r.Slot.Role == v1alpha1.Worker && r.Slot.Index >= from })
}
