package plan

import (
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// keepSpares returns the steps from the spares there are to those that there should be: none while a replica of the role
// has no node yet, and one less for each that fits nowhere.
func keepSpares(s *state.Snapshot, v *policy.Verdict) []Step {
	var steps []Step
	for _, role := range s.Job.Spec.Roles() {
		own := sparesOf(s, role)
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
	return steps
}

// freeNodes ends as many of the spares that hold a node as are in the way: those that are missing or going make way already. One
// on a lost node has no room to give.
func freeNodes(s *state.Snapshot, own []state.Pod, inTheWay, count int) []Step {
	staying := slices.DeleteFunc(slices.Clone(own), func(p state.Pod) bool { return !p.Deleted.IsZero() && !s.IsLost(&p) })
	holding := slices.DeleteFunc(slices.Clone(staying), func(p state.Pod) bool { return !p.Scheduled() || !p.CanRun() || s.IsLost(&p) })
	n := inTheWay - (count - len(staying))
	return deleteSpares(s, holding[:max(0, min(n, len(holding)))])
}

func createSpares(s *state.Snapshot, v *policy.Verdict, role v1alpha1.Role, count int, own []state.Pod) []Step {
	if s.Now.Before(sparesFrom(s)) || !isPlaced(s) {
		return nil
	}
	var steps []Step
	placement := placement(s, v)
	for i := range count {
		if !slices.ContainsFunc(own, func(p state.Pod) bool { return p.Slot.Index == i }) {
			steps = append(steps, CreatePod{Name: state.SpareName(s.Job.Name, role, i), Slot: state.Slot{Role: role, Index: i}, Spare: true, Placement: placement})
		}
	}
	return steps
}

// sparesFrom returns when missing spares may be created: after a refusal and after some that have failed there is a wait.
func sparesFrom(s *state.Snapshot) time.Time {
	from := s.SparesFrom
	if s.SpareRefusal != nil && s.SpareRefusal.Retry.After(from) {
		from = s.SpareRefusal.Retry
	}
	return from
}

// lacksSpare reports whether a spare is missing that should be there.
func lacksSpare(s *state.Snapshot) bool {
	want := 0
	for role := range s.Job.Spec.ReplicaSpecs {
		if spares := s.Job.Spec.ReplicaSpecs[role].Spares; spares != nil {
			want += int(spares.Count)
		}
	}
	return len(s.Spares) < want && isPlaced(s)
}

// isPlaced reports whether every replica has a node: only then spares may take the remaining room.
func isPlaced(s *state.Snapshot) bool {
	for r := range s.Replicas() {
		if r.LacksNode() {
			return false
		}
	}
	return true
}

// aClaim matches a scheduler's message about a pod whose volume or device claim is missing or not bound.
var aClaim = regexp.MustCompile(`(?i)persistentvolumeclaim|resourceclaim`)

// waitsForClaim reports whether a claim keeps the replica's pod from its node. Room would not help it.
func waitsForClaim(r *state.Replica) bool {
	return aClaim.MatchString(r.Pod.Waiting.Message) && !strings.Contains(r.Pod.Waiting.Message, "Insufficient")
}

// sparesInTheWay returns how many placeholders of a role are to make way: one for each of its replicas that fits nowhere else.
func sparesInTheWay(s *state.Snapshot, role v1alpha1.Role) int {
	n := 0
	for r := range s.Replicas() {
		if r.Slot.Role == role && r.FitsNowhere() && !waitsForClaim(r) {
			n++
		}
	}
	return n
}

func sparesOf(s *state.Snapshot, role v1alpha1.Role) []state.Pod {
	return slices.DeleteFunc(slices.Clone(s.Spares), func(p state.Pod) bool { return p.Slot.Role != role })
}

// deleteSpares ends spares. It forces a spare on a lost node, and a spare that has used up the time that the user gives to pods.
func deleteSpares(s *state.Snapshot, spares []state.Pod) []Step {
	var steps []Step
	for i := range spares {
		p := &spares[i]
		due := forceTime(s, p)
		isForced := s.IsLost(p) || !p.Deleted.IsZero() && !due.IsZero() && !s.Now.Before(due)
		if p.Deleted.IsZero() || isForced {
			steps = append(steps, DeletePod{Name: p.Name, UID: p.UID, Why: WhySpare, Force: isForced})
		}
	}
	return steps
}

// nextForcedSpare returns when the next deleted spare may be deleted by force; zero for never.
func nextForcedSpare(s *state.Snapshot) time.Time {
	var next time.Time
	for i := range s.Spares {
		if p := &s.Spares[i]; !p.Deleted.IsZero() && s.Now.Before(forceTime(s, p)) {
			next = state.Earliest(next, forceTime(s, p))
		}
	}
	return next
}

// heldNodes returns by role how many spares hold a node: a deleted spare holds it until its end.
func heldNodes(s *state.Snapshot) map[v1alpha1.Role]int32 {
	held := map[v1alpha1.Role]int32{}
	for i := range s.Spares {
		if p := &s.Spares[i]; p.Phase == corev1.PodRunning && !s.IsLost(p) {
			held[p.Slot.Role]++
		}
	}
	return held
}
