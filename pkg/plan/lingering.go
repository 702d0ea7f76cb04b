package plan

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/pkg/state"
)

const (
	// nameAfter is how long a pod may take to end before it is named.
	nameAfter = 15 * time.Second
	// stuckAfter is how long after its grace period a pod counts as one that does not end by itself.
	stuckAfter = 30 * time.Second
)

// lingering returns the pod that the job waits for and that was told to end first; nil if it waits for none.
func lingering(s *state.Snapshot) *state.Pod {
	var longest *state.Pod
	linger := func(p *state.Pod) {
		if longest == nil || p.Deleted.Before(longest.Deleted) {
			longest = p
		}
	}
	for i := range s.Pods {
		if p := &s.Pods[i]; isAwaitedToEnd(s, p) {
			linger(p)
		}
	}
	for i := range s.Former {
		if p := &s.Former[i]; isEnding(s, p) {
			linger(p)
		}
	}
	return longest
}

// isAwaitedToEnd reports whether the job waits for the end of a pod of its own, which was told to. It does not wait for those on lost
// nodes; for a pod of a former job it always does.
func isAwaitedToEnd(s *state.Snapshot, p *state.Pod) bool {
	return isEnding(s, p) && !s.IsLost(p) && (s.IsPast(p) || s.Job.Spec.IsSuspended())
}

// isEnding reports whether the pod was told to end and can still act.
func isEnding(s *state.Snapshot, p *state.Pod) bool { return !p.Deleted.IsZero() && s.MayAct(p) }

// whoLingers names the pod that the job waits for, if that takes long; empty if it does not.
func whoLingers(s *state.Snapshot) string {
	p := lingering(s)
	if p == nil || s.Now.Before(p.Deleted.Add(nameAfter)) {
		return ""
	}
	return fmt.Sprintf("%s on %s was told to end at %s UTC.", p.Name, p.Node, p.Deleted.UTC().Format("15:04:05"))
}

// whoIsStuck names the pod that does not end although its grace period is over and its node is well, and what to do about it;
// empty if there is none.
func whoIsStuck(s *state.Snapshot) string {
	p := lingering(s)
	if p == nil || s.Now.Before(p.EndsBy.Add(stuckAfter)) {
		return ""
	}
	return fmt.Sprintf("%s on %s was told to end at %s UTC and does not, and the job waits for it. End its processes on the node, "+
		"or, if none of them can write any more, delete it: kubectl delete pod %s --namespace %s --grace-period=0 --force",
		p.Name, p.Node, p.Deleted.UTC().Format("15:04:05"), p.Name, s.Job.Namespace)
}

// nextWord returns when there will be more to say of a pod that the job waits for; zero for never.
func nextWord(s *state.Snapshot, p *state.Pod) time.Time {
	var next time.Time
	for _, at := range []time.Time{p.Deleted.Add(nameAfter), p.EndsBy.Add(stuckAfter)} {
		if s.Now.Before(at) {
			next = state.Earliest(next, at)
		}
	}
	return next
}

func nextWordOfFormer(s *state.Snapshot) time.Time {
	var next time.Time
	for i := range s.Former {
		if p := &s.Former[i]; isEnding(s, p) {
			next = state.Earliest(next, nextWord(s, p))
		}
	}
	return next
}
