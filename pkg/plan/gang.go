package plan

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/gang"
	"github.com/trainingjob/operator/pkg/state"
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
	for r := range s.Replicas() {
		if isOfGang(s, r) && r.State == state.Running && r.Pod.Rejected.Reason == "" {
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

// isPastGroup returns a function that reports whether the group belongs to another attempt, or to a scheduler that the job no
// longer uses.
func isPastGroup(s *state.Snapshot) func(state.Group) bool {
	return func(g state.Group) bool {
		return g.Name != state.GroupNameOf(s.Job) || g.Scheduler != s.Gang.Scheduler
	}
}
