package plan

import (
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/gang"
	"github.com/trainingjob/operator/pkg/state"
)

// terms returns the scheduling terms of the job's gang now.
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
	least := minAvailable(s)
	if neverFits(s) {
		t.Minimum = least
	}
	for r := range s.Replicas() {
		if t.Minimum < least && r.NeedsPod() && isOfGang(s, r) {
			t.Minimum++
		}
	}
	return t
}

// neverFits reports whether a Kubeflow job needs more pods at once than it has. It waits until its user writes fewer, as under Kubeflow's operator. Any
// other job needs all its pods at most, because a queue may admit it with fewer workers.
func neverFits(s *state.Snapshot) bool {
	return state.ServedJob(s.Job) != nil && int(minAvailable(s)) > state.Total(&s.Job.Spec)
}

// joinsGang reports whether the role's pods join the job's pod group: the roles that the training needs. A group that keeps a
// topology itself holds only the roles of its domain: it would draw all others there.
func joinsGang(spec *v1alpha1.TrainingJobSpec, scheduler v1alpha1.Gang, role v1alpha1.Role) bool {
	provider := gang.For(scheduler)
	return provider != nil && state.IsNeeded(role) && (!provider.Constrains(state.TopologyOf(spec)) || state.InDomain(spec, role))
}

// isOfGang reports whether the replica's pod joins the job's pod group.
func isOfGang(s *state.Snapshot, r *state.Replica) bool {
	return joinsGang(&s.Job.Spec, s.Gang.Scheduler, r.Slot.Role)
}

// minAvailable returns how many pods must fit at once before any replica has finished.
func minAvailable(s *state.Snapshot) int32 {
	spec := &s.Job.Spec
	if spec.Scheduling != nil && spec.Scheduling.MinAvailable != nil {
		return *spec.Scheduling.MinAvailable
	}
	var total int32
	for _, n := range indispensable(s) {
		total += n
	}
	return total
}

// indispensable returns how many replicas of each role the gang cannot do without.
func indispensable(s *state.Snapshot) map[v1alpha1.Role]int32 {
	spec, counts := &s.Job.Spec, map[v1alpha1.Role]int32{}
	for role := range spec.ReplicaSpecs {
		switch {
		case !joinsGang(spec, s.Gang.Scheduler, role):
		case role == v1alpha1.Worker && spec.Elastic != nil:
			counts[role] = spec.Elastic.MinReplicas
		default:
			counts[role] = spec.Replicas(role)
		}
	}
	return counts
}

// members returns the replicas that join the gang.
func members(s *state.Snapshot, replicas []*state.Replica) []*state.Replica {
	return slices.DeleteFunc(slices.Clone(replicas), func(r *state.Replica) bool { return !isOfGang(s, r) })
}

// indispensableFirst returns the missing replicas that the gang needs, while fewer pods than its minimum have nodes; after that,
// all. An evaluator would take a node that the gang needs. The scheduler would take any elastic workers for the minimum, and no
// job runs without worker 0.
func indispensableFirst(s *state.Snapshot, missing []*state.Replica) []*state.Replica {
	if !s.IsGang() {
		return missing
	}
	if slices.ContainsFunc(slices.Collect(s.Replicas()), func(r *state.Replica) bool { return isOfGang(s, r) && r.LacksNode() }) {
		missing = members(s, missing)
	}
	if s.Job.Spec.Elastic == nil {
		return missing
	}
	needed, placed := 0, 0
	var workers []*state.Replica
	for r := range s.Replicas() {
		if !r.NeedsPod() || !isOfGang(s, r) {
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
	// workers are sorted by index: the gang can do without the last ones
	canMiss := min(needed-minimum, len(workers))
	if canMiss <= 0 {
		return missing
	}
	from := workers[len(workers)-canMiss].Slot.Index
	return slices.DeleteFunc(missing, func(r *state.Replica) bool { return r.Slot.Role == v1alpha1.Worker && r.Slot.Index >= from })
}
