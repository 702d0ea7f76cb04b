package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	// nameAfter is how long a deleted object may stay before a message names it.
	nameAfter = 15 * time.Second
	// stuckAfter is how long after its grace period an object counts as stuck.
	stuckAfter = 30 * time.Second
)

// linger is a deleted object that the job waits for: its own pod, a pod of an earlier job, or a pod group.
type linger struct {
	// what is the object's name and place.
	what string
	// since is when it was deleted, endsBy when it should have ended.
	since, endsBy time.Time
	// remedy is what a person can do.
	remedy string
}

// lingering returns all deleted objects that the job waits for.
func lingering(s *state.Snapshot) []linger {
	var all []linger
	add := func(pods []state.Pod, isAwaited func(*state.Pod) bool) {
		for i := range pods {
			if p := &pods[i]; !p.Deleted.IsZero() && isAwaited(p) {
				all = append(all, lingerOf(s, p))
			} else if next := heldBy(s, p); next != nil {
				all = append(all, holding(p, next))
			}
		}
	}
	add(s.Pods, func(p *state.Pod) bool { // of its own pods it awaits none on a lost node
		return s.MayAct(p) && !s.IsLost(p) && (s.IsPast(p) || s.IsResting())
	})
	add(s.Former, func(*state.Pod) bool { return true }) // each holds a name, also once it has ended
	if slices.ContainsFunc(s.Pods, func(p state.Pod) bool { return s.MayAct(&p) }) {
		return all // a group goes after its pods
	}
	for i := range s.Gang.Groups {
		if g := &s.Gang.Groups[i]; g.IsGoing() && (s.IsResting() || s.IsGang() && g == s.PresentGroup()) {
			all = append(all, linger{
				what: fmt.Sprintf("The pod group %s of %s", g.Name, g.Scheduler), since: g.Deleted, endsBy: g.Deleted,
				remedy: fmt.Sprintf("Its metadata.finalizers show which controller keeps it: kubectl get podgroups --namespace %s %s -o yaml", s.Job.Namespace, g.Name),
			})
		}
	}
	return all
}

func lingerOf(s *state.Snapshot, p *state.Pod) linger {
	l := linger{what: p.Name + " on " + p.Node, since: p.Deleted, endsBy: p.EndsBy}
	l.remedy = fmt.Sprintf("End its processes on the node. If none of them can write any more, delete the pod by force: "+
		"kubectl delete pod %s --namespace %s --grace-period=0 --force", p.Name, s.Job.Namespace)
	if p.Finalizers != "" && !s.MayAct(p) {
		l.what += ", which has ended and has the finalizers " + p.Finalizers + ","
		l.remedy = fmt.Sprintf("If the controllers of its finalizers are gone, remove them: kubectl patch pod %s --namespace %s --type merge --patch "+
			`'{"metadata":{"finalizers":null}}'`, p.Name, s.Job.Namespace)
	}
	return l
}

// heldBy returns the pod that waits for the volume of a pod on a lost node; nil if there is none. Only a person can detach that
// volume. A volume that several nodes may mount lets the pod start.
func heldBy(s *state.Snapshot, p *state.Pod) *state.Pod {
	r := s.Replica(p.Slot)
	if !p.HoldsVolume || p.Deleted.IsZero() || !s.IsLost(p) || r == nil || r.State != state.Starting || r.Pod == p || !r.Pod.HoldsVolume {
		return nil
	}
	return r.Pod
}

// holding describes a pod on a lost node that holds the volume of the next pod.
func holding(p, next *state.Pod) linger {
	return linger{
		what: p.Name + " on " + p.Node + ", which is lost, holds the volume of " + next.Name + ". It", since: p.Deleted, endsBy: next.Created,
		remedy: fmt.Sprintf("If the node is off: kubectl taint nodes %s node.kubernetes.io/out-of-service=nodeshutdown:NoExecute", p.Node),
	}
}

// longest returns the object that has lingered longest; nil if there is none.
func longest(s *state.Snapshot) *linger {
	all := lingering(s)
	if len(all) == 0 {
		return nil
	}
	first := slices.MinFunc(all, func(a, b linger) int { return a.since.Compare(b.since) })
	return &first
}

// stuckMessage names the object that stays after its grace period, and the remedy; empty if there is none.
func stuckMessage(s *state.Snapshot) string {
	l := longest(s)
	if l == nil || s.Now.Before(l.endsBy.Add(stuckAfter)) {
		return ""
	}
	if s.IsLocal {
		l.remedy = "End its processes."
	}
	return fmt.Sprintf("%s has been terminating since %s UTC, and the job waits for it. %s", l.what, l.since.UTC().Format(time.TimeOnly), l.remedy)
}

// nextLingering returns when the message about lingering objects, or about a scheduling gate, changes; zero for never.
func nextLingering(s *state.Snapshot) time.Time {
	var next time.Time
	for r := range s.Replicas() {
		if until := gatedUntil(r); s.Now.Before(until) {
			next = state.Earliest(next, until)
		}
	}
	for _, l := range lingering(s) {
		for _, at := range []time.Time{l.since.Add(nameAfter), l.endsBy.Add(stuckAfter)} {
			if s.Now.Before(at) {
				next = state.Earliest(next, at)
			}
		}
	}
	return next
}

// withLingering returns the message with the name of the object that the job waits for, if that takes long.
func withLingering(s *state.Snapshot, message string) string {
	l := longest(s)
	if l == nil || s.Now.Before(l.since.Add(nameAfter)) {
		return message
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s has been terminating since %s UTC.", message, l.what, l.since.UTC().Format(time.TimeOnly)))
}

// gatedUntil returns how long a pod with scheduling gates may wait before a message names them; zero for a pod without.
func gatedUntil(r *state.Replica) time.Time {
	if r.Pod == nil || r.Pod.Waiting.Reason != corev1.PodReasonSchedulingGated {
		return time.Time{}
	}
	return r.Pod.Created.Add(nameAfter)
}
