package plan

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/gang"
	"github.com/trainingjob/operator/pkg/state"
)

// askAgain is how often a job checks whether the cluster now serves its gang scheduler's API.
const askAgain = 15 * time.Second

// groupUp returns the steps that bring the present attempt's group up before its pods, as without it the first pods would be
// scheduled alone. ready is whether pods may be created with these steps.
//
//   - While pods wait for nodes the group is kept right: they would wait for ever in one that is gone, or whose minimum
//     counts a replica that has finished since.
//   - Pods that join a group set its minimum even to its present value. This write verifies that the group still exists: the
//     cache may be older than a suspension, after which another group has the same name.
//   - A deleted group stays as long as a pod of it runs, and pods can join it until then: a replica that is replaced alone does.
//     The job waits for the end of a group without pods, and then creates it again.
func groupUp(s *state.Snapshot, missing []*state.Replica) (steps []Step, ready bool) {
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

// isHeld reports whether a pod of the present group runs on a node, and is to: the group does not go before it.
func isHeld(s *state.Snapshot) bool {
	for r := range s.Replicas() {
		if isOfGang(s, r) && r.State == state.Running {
			return true
		}
	}
	return false
}

// awaitsNodes reports whether a pod of the group and of a present life has no node.
func awaitsNodes(s *state.Snapshot) bool {
	for r := range s.Replicas() {
		if isOfGang(s, r) && r.Pod != nil && r.Pod.CanRun() && !r.Pod.Scheduled() {
			return true
		}
	}
	return false
}

// deleteGroups returns the steps that delete the job's groups that are not wanted any more.
func deleteGroups(s *state.Snapshot, unwanted func(state.Group) bool) []Step {
	var steps []Step
	for _, g := range s.Gang.Groups {
		if !g.IsGoing() && unwanted(g) {
			empty, _ := gang.For(g.Scheduler).Empty()
			steps = append(steps, DeleteGroup{Empty: empty, Name: g.Name, UID: g.UID})
		}
	}
	return steps
}

// isPastGroup returns a function that reports whether the group is of another attempt than the present, or of a scheduler
// that is no longer the job's.
func isPastGroup(s *state.Snapshot) func(state.Group) bool {
	return func(g state.Group) bool {
		return g.Name != state.GroupNameOf(s.Job) || g.Scheduler != s.Gang.Scheduler
	}
}
