package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	// nameAfter is how long a deleted object may take before the message names it.
	nameAfter = 15 * time.Second
	// stuckAfter is how long after its grace period it counts as one that does not end by itself.
	stuckAfter = 30 * time.Second
)

// linger is a deleted object that the job waits for: a pod of its own or of an old job, a spare, or a pod group.
type linger struct {
	// what is its name, and where it is.
	what string
	// told is the time of the deletion, endsBy the latest time for its end.
	told, endsBy time.Time
	// remedy is what a person can do.
	remedy string
}

// lingering returns all deleted objects that the job waits for.
func lingering(s *state.Snapshot) []linger {
	var all []linger
	add := func(pods []state.Pod, isAwaited func(*state.Snapshot, *state.Pod) bool) {
		for i := range pods {
			if p := &pods[i]; isAwaited(s, p) {
				all = append(all, lingerOf(s, p))
			} else if next := heldBy(s, p); next != nil {
				all = append(all, holding(p, next))
			}
		}
	}
	add(s.Pods, isAwaitedToEnd)
	add(s.Former, isEnding)
	if isResting(s) {
		add(s.Spares, isEnding)
	}
	if slices.ContainsFunc(s.Pods, func(p state.Pod) bool { return s.MayAct(&p) }) {
		return all // a group goes after its pods
	}
	for i := range s.Gang.Groups {
		if g := &s.Gang.Groups[i]; g.IsGoing() && (isResting(s) || s.IsGang() && g == s.PresentGroup()) {
			all = append(all, lingerOfGroup(s, g))
		}
	}
	return all
}

// lingerOfGroup returns what a pod group in deletion is to the job.
func lingerOfGroup(s *state.Snapshot, g *state.Group) linger {
	return linger{
		what: fmt.Sprintf("The pod group %s of %s", g.Name, g.Scheduler), told: g.Deleted, endsBy: g.Deleted,
		remedy: fmt.Sprintf("Its metadata.finalizers show which controller keeps it: kubectl get podgroups --namespace %s %s -o yaml", s.Job.Namespace, g.Name),
	}
}

// isResting reports whether the job rests, is to, or has yet to be rid of what was before its suspension.
func isResting(s *state.Snapshot) bool {
	return s.Job.Spec.IsSuspended() || s.Is(v1alpha1.ConditionSuspended)
}

// lingerOf returns the description of a deleted pod.
func lingerOf(s *state.Snapshot, p *state.Pod) linger {
	return linger{
		what: p.Name + " on " + p.Node, told: p.Deleted, endsBy: p.EndsBy,
		remedy: fmt.Sprintf("End its processes on the node, or, if none of them can write any more, delete it: "+
			"kubectl delete pod %s --namespace %s --grace-period=0 --force", p.Name, s.Job.Namespace),
	}
}

// heldBy returns the pod that waits for the volume of a pod on a lost node, which only a person can take off; nil if there is none. A volume that
// several nodes may mount lets it start.
func heldBy(s *state.Snapshot, p *state.Pod) *state.Pod {
	r := s.Replica(p.Slot)
	if !p.HoldsVolume || p.Deleted.IsZero() || !s.IsLost(p) || r == nil || r.State != state.Starting || r.Pod == p || !r.Pod.HoldsVolume {
		return nil
	}
	return r.Pod
}

// holding returns what a pod on a lost node is to the job whose next pod waits for its volume.
func holding(p, next *state.Pod) linger {
	return linger{
		what: p.Name + " on " + p.Node + ", which is lost, holds the volume of " + next.Name + ". It", told: p.Deleted, endsBy: next.Created,
		remedy: fmt.Sprintf("If the node is off: kubectl taint nodes %s node.kubernetes.io/out-of-service=nodeshutdown:NoExecute", p.Node),
	}
}

// longest returns what has lingered longest; nil for nothing.
func longest(s *state.Snapshot) *linger {
	var first *linger
	all := lingering(s)
	for i := range all {
		if first == nil || all[i].told.Before(first.told) {
			first = &all[i]
		}
	}
	return first
}

// isAwaitedToEnd reports whether the job waits for the end of its own deleted pod. It does not wait for pods on lost nodes; for a pod of
// an old job it always does.
func isAwaitedToEnd(s *state.Snapshot, p *state.Pod) bool {
	return isEnding(s, p) && !s.IsLost(p) && (s.IsPast(p) || isResting(s))
}

// isEnding reports whether the pod is deleted and can still act.
func isEnding(s *state.Snapshot, p *state.Pod) bool { return !p.Deleted.IsZero() && s.MayAct(p) }

// whoLingers names what the job waits for, if that takes long; empty if it does not.
func whoLingers(s *state.Snapshot) string {
	l := longest(s)
	if l == nil || s.Now.Before(l.told.Add(nameAfter)) {
		return ""
	}
	return fmt.Sprintf("%s was deleted at %s UTC and has not ended yet.", l.what, l.told.UTC().Format("15:04:05"))
}

// whoIsStuck names what does not end although its grace period is over, and what to do about it; empty if there is nothing.
func whoIsStuck(s *state.Snapshot) string {
	l := longest(s)
	if l == nil || s.Now.Before(l.endsBy.Add(stuckAfter)) {
		return ""
	}
	return fmt.Sprintf("%s was deleted at %s UTC and does not end. The job waits for it. %s", l.what, l.told.UTC().Format("15:04:05"), l.remedy)
}

// nextWord returns when there will be more to say of what lingers; zero for never.
func nextWord(s *state.Snapshot) time.Time {
	var next time.Time
	for _, l := range lingering(s) {
		for _, at := range []time.Time{l.told.Add(nameAfter), l.endsBy.Add(stuckAfter)} {
			if s.Now.Before(at) {
				next = state.Earliest(next, at)
			}
		}
	}
	return next
}

// withWhoLingers returns the message with the name of what the job waits for, if that takes long.
func withWhoLingers(s *state.Snapshot, message string) string {
	return strings.TrimSpace(message + " " + whoLingers(s))
}
