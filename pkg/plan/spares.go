package plan

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// convergeSpares returns the steps from the present spares to the wanted ones, and when missing ones may be created; zero for
// never. It creates no spare while a replica has no node. A spare makes way for each replica that fits nowhere.
func convergeSpares(s *state.Snapshot, v *policy.Verdict) (steps []Step, wake time.Time) {
	if from := sparesFrom(s); s.Now.Before(from) && lacksSpare(s) {
		wake = from
	}
	for _, role := range s.Job.Spec.Roles() {
		own := slices.DeleteFunc(slices.Clone(s.Spares), func(p state.Pod) bool { return p.Slot.Role != role })
		spares := s.Job.Spec.ReplicaSpecs[role].Spares
		inTheWay := sparesInTheWay(s, role)
		switch {
		case spares == nil:
			steps = append(steps, deleteSpares(s, own)...)
		case inTheWay > 0:
			steps = append(steps, freeNodes(s, own, inTheWay, int(spares.Count))...)
		default:
			isKept := func(p state.Pod) bool {
				return p.Slot.Index < int(spares.Count) && !s.IsLost(&p) && p.CanRun()
			}
			steps = append(steps, deleteSpares(s, slices.DeleteFunc(slices.Clone(own), isKept))...)
			steps = append(steps, createSpares(s, v, role, int(spares.Count), own)...)
		}
	}
	return steps, wake
}

// freeNodes deletes as many spares with a node as are in the way. Missing and terminating spares already make way. A spare on a
// lost node frees no room.
func freeNodes(s *state.Snapshot, own []state.Pod, inTheWay, count int) []Step {
	staying := slices.DeleteFunc(slices.Clone(own), func(p state.Pod) bool { return !p.Deleted.IsZero() && !s.IsLost(&p) })
	holding := slices.DeleteFunc(slices.Clone(staying), func(p state.Pod) bool { return !p.Scheduled() || !p.CanRun() || s.IsLost(&p) })
	n := inTheWay - (count - len(staying))
	return deleteSpares(s, holding[:max(0, min(n, len(holding)))])
}

func createSpares(s *state.Snapshot, v *policy.Verdict, role v1alpha1.Role, count int, own []state.Pod) []Step {
	if s.Now.Before(sparesFrom(s)) || s.Any((*state.Replica).LacksNode) { // only then may spares take the remaining nodes
		return nil
	}
	var steps []Step
	placement := placement(s, v)
	for i := range count {
		if !slices.ContainsFunc(own, func(p state.Pod) bool { return p.Slot.Index == i }) {
			steps = append(steps, CreatePod{Name: state.SpareName(s.Job.Name, role, i), Slot: state.Slot{Role: role, Index: i}, Stage: Spares, Placement: placement})
		}
	}
	return steps
}

// sparesFrom returns when missing spares may be created: after a refusal and after failed spares there is a wait.
func sparesFrom(s *state.Snapshot) time.Time {
	from := s.SparesFrom
	if s.SpareRefusal != nil && s.SpareRefusal.Retry.After(from) {
		from = s.SpareRefusal.Retry
	}
	return from
}

func lacksSpare(s *state.Snapshot) bool {
	want := 0
	for role := range s.Job.Spec.ReplicaSpecs {
		if spares := s.Job.Spec.ReplicaSpecs[role].Spares; spares != nil {
			want += int(spares.Count)
		}
	}
	return len(s.Spares) < want && !s.Any((*state.Replica).LacksNode)
}

// aClaim matches the scheduler's message about a pod whose volume or device claim is missing or not bound.
var aClaim = regexp.MustCompile(`(?i)persistentvolumeclaim|resourceclaim`)

// sparesInTheWay returns how many spares of a role must make way: one for each of its replicas that fits nowhere else.
func sparesInTheWay(s *state.Snapshot, role v1alpha1.Role) int {
	n := 0
	for r := range s.Replicas() {
		if r.Slot.Role != role || !r.FitsNowhere() {
			continue
		}
		// room does not help a pod that waits for a claim
		if why := r.Pod.Waiting.Message; !aClaim.MatchString(why) || strings.Contains(why, "Insufficient") {
			n++
		}
	}
	return n
}

// deleteSpares deletes spares. It deletes by force on a node that is surely lost, where nothing ends the pod, and after the user's
// forceAfterSeconds.
func deleteSpares(s *state.Snapshot, spares []state.Pod) []Step {
	var steps []Step
	for i := range spares {
		p := &spares[i]
		due := forceTime(s, p)
		isForced := s.IsSurelyLost(p) || !p.Deleted.IsZero() && !due.IsZero() && !s.Now.Before(due)
		if p.Deleted.IsZero() || isForced {
			steps = append(steps, DeletePod{Name: p.Name, UID: p.UID, Why: WhySpare, Force: isForced})
		}
	}
	return steps
}

// nextForcedSpare returns when the next terminating spare may be deleted by force; zero for never.
func nextForcedSpare(s *state.Snapshot) time.Time {
	var next time.Time
	for i := range s.Spares {
		if p := &s.Spares[i]; !p.Deleted.IsZero() && s.Now.Before(forceTime(s, p)) {
			next = state.Earliest(next, forceTime(s, p))
		}
	}
	return next
}
