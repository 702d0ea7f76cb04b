package plan

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/gang"
	"github.com/trainingjob/operator/pkg/job/state"
)

// retryGroupAfter is how often a job checks whether the cluster serves its gang scheduler's API.
const retryGroupAfter = 15 * time.Second

// ensureGroup returns the steps that create or update the present attempt's group before its pods. Without the group the first pods would
// be scheduled alone. ready is whether pods may be created with these steps.
//
//   - While pods wait for nodes, the group must exist with the right minimum. They would wait for ever in a group that is gone, or in one
//     whose minimum counts a replica that has finished since.
//   - When pods join a group, its minimum is written even if it is right. The write shows whether the group still exists: the cache may be
//     older than a suspension, and another group may have the same name by now.
//   - A group that a user has deleted stays as long as one of its pods runs, and pods can join it until then, such as a single replaced
//     replica. If no pod holds the group, the job waits until it is gone and creates a new one.
func ensureGroup(s *state.Snapshot, missing []*state.Replica) (steps []Step, ready bool) {
	joins := slices.ContainsFunc(missing, func(r *state.Replica) bool { return isOfGang(s, r) })
	if !s.IsGang() || !joins && !awaitsNodes(s) {
		return nil, true
	}
	provider := gang.For(s.Gang.Scheduler)
	want := terms(s)
	switch group := s.PresentGroup(); {
	case s.Gang.Unavailable != "", group != nil && group.IsGoing() && !isHeld(s):
		return nil, false
	case group == nil:
		return []Step{CreateGroup{build.Group(s.Job, provider.Group(want))}}, true
	case group.Minimum != want.Minimum || joins:
		empty, _ := provider.Empty()
		return []Step{ResizeGroup{Empty: empty, Name: group.Name, UID: group.UID, Spec: provider.Resize(want.Minimum), Going: group.IsGoing()}}, true
	default:
		return nil, true
	}
}

// isHeld reports whether a running pod keeps the present group in existence. A pod that its kubelet evicts holds no group, even if its
// containers still run.
func isHeld(s *state.Snapshot) bool {
	return s.Any(func(r *state.Replica) bool {
		return isOfGang(s, r) && r.State == state.Running && r.Pod.Rejected.Reason == ""
	})
}

func awaitsNodes(s *state.Snapshot) bool {
	return s.Any(func(r *state.Replica) bool {
		return isOfGang(s, r) && r.Pod != nil && r.Pod.CanRun() && !r.Pod.Scheduled()
	})
}

// seeGroupGoneAfter is how long after its deletion a pod group that still exists is deleted again. No other event would wake a
// job that has ended.
const seeGroupGoneAfter = 5 * time.Second

// deleteGroups returns the steps that delete the unwanted groups of the job, and when to check that they are gone; zero for
// never.
func deleteGroups(s *state.Snapshot, unwanted func(state.Group) bool) (steps []Step, wake time.Time) {
	for _, g := range s.Gang.Groups {
		if !g.IsGoing() && unwanted(g) {
			empty, _ := gang.For(g.Scheduler).Empty()
			steps = append(steps, DeleteGroup{Empty: empty, Name: g.Name, UID: g.UID})
			wake = s.Now.Add(seeGroupGoneAfter)
		}
	}
	return steps, wake
}

func everyGroup(state.Group) bool { return true }

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

// membersFirst returns the missing replicas of the gang while one of its pods lacks a node, and then all. An evaluator would take a node that the
// gang needs.
func membersFirst(s *state.Snapshot, missing []*state.Replica) []*state.Replica {
	if !s.Any(func(r *state.Replica) bool { return isOfGang(s, r) && r.LacksNode() }) {
		return missing
	}
	return slices.DeleteFunc(missing, func(r *state.Replica) bool { return !isOfGang(s, r) })
}

// leastWorkersFirst returns the missing replicas without the last workers of an elastic gang, as many as it can do without, while fewer pods than its
// minimum have nodes; and then all. The scheduler would take any workers for the minimum, and no job runs without worker 0.
func leastWorkersFirst(s *state.Snapshot, missing []*state.Replica) []*state.Replica {
	if !s.IsGang() || s.Job.Spec.Elastic == nil {
		return missing
	}
	needed, placed := 0, 0
	var workers []*state.Replica // sorted by index
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
	canMiss := min(needed-minimum, len(workers))
	if placed >= minimum || canMiss <= 0 {
		return missing
	}
	from := workers[len(workers)-canMiss].Slot.Index
	return slices.DeleteFunc(missing, func(r *state.Replica) bool { return r.Slot.Role == v1alpha1.Worker && r.Slot.Index >= from })
}
