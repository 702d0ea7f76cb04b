package policy

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	// maxAvoided is how many nodes a job avoids at most: the latest ones.
	maxAvoided = state.MaxAvoided
	// strikesForExits is how many failures on a node make the job avoid it although the node itself did not break.
	strikesForExits = 2
)

// avoidedAfter returns the nodes that the job's new pods avoid, now that incidents are what they are, some of them by amendments.
func avoidedAfter(s *state.Snapshot, incidents []v1alpha1.Incident, amendments []Amendment) []v1alpha1.AvoidedNode {
	ttl := time.Duration(ptr.Deref(s.Job.Spec.Recovery.AvoidNodesSeconds, v1alpha1.DefaultAvoidNodesSeconds)) * time.Second
	since := s.Now.Add(-ttl)
	incidents = slices.Concat(incidents, besides(s, incidents))
	avoided := slices.DeleteFunc(takeBack(s.Job.Status.AvoidedNodes, amendments), func(n v1alpha1.AvoidedNode) bool {
		return !s.Now.Before(n.Until.Time) || !state.IsNodeFault(n.Reason) && failedElsewhere(n.Name, incidents, since)
	})
	for _, i := range incidents {
		if i.Node == "" || !i.RestartTime.After(since) || !isToAvoid(&i, incidents, since) {
			continue
		}
		at := slices.IndexFunc(avoided, func(n v1alpha1.AvoidedNode) bool { return n.Name == i.Node })
		if at < 0 {
			avoided, at = append(avoided, v1alpha1.AvoidedNode{Name: i.Node}), len(avoided)
		}
		n, until := &avoided[at], metav1.NewTime(i.RestartTime.Add(ttl))
		n.Strikes = max(n.Strikes, strikesOn(i.Node, incidents, since))
		if !n.Until.Before(&until) {
			continue
		}
		n.Until, n.Preferred = until, false
		if state.IsNodeFault(i.Reason) || !state.IsNodeFault(n.Reason) {
			n.Reason = i.Reason
		}
	}
	return latest(avoided)
}

// latest returns the avoided nodes by name; the latest ones, if they are too many.
func latest(avoided []v1alpha1.AvoidedNode) []v1alpha1.AvoidedNode {
	if len(avoided) > maxAvoided {
		slices.SortStableFunc(avoided, func(a, b v1alpha1.AvoidedNode) int { return b.Until.Compare(a.Until.Time) })
		avoided = avoided[:maxAvoided]
	}
	slices.SortFunc(avoided, func(a, b v1alpha1.AvoidedNode) int { return cmp.Compare(a.Name, b.Name) })
	return avoided
}

// besides returns, as if each were an incident of its own, the nodes that are lost, or left, together with the one that the latest
// incident names: no more of them than a job avoids.
func besides(s *state.Snapshot, incidents []v1alpha1.Incident) []v1alpha1.Incident {
	now := metav1.NewTime(s.Now.Truncate(time.Second))
	if len(incidents) == 0 || !incidents[0].RestartTime.Equal(&now) || !state.IsNodeFault(incidents[0].Reason) {
		return nil
	}
	var more []v1alpha1.Incident
	for _, n := range s.Nodes {
		if len(more) == maxAvoided {
			break
		}
		named := slices.ContainsFunc(incidents, func(i v1alpha1.Incident) bool { return i.Node == n.Name && i.RestartTime.Equal(&now) })
		reason := n.Lost.Reason
		switch {
		case reason == "":
			reason = n.Ill.Reason
		case reason == v1alpha1.ReasonNodeDeleted || s.Now.Before(n.Lost.Time):
			continue
		}
		if !named {
			more = append(more, v1alpha1.Incident{Failure: v1alpha1.Failure{Node: n.Name, Cause: v1alpha1.CauseInfrastructure, Reason: reason}, RestartTime: now})
		}
	}
	return more
}

// isToAvoid reports whether the incident makes the job avoid its node: at once if the node itself broke. Exits of the
// program do so when there were several on the node, and none on any other: else it is the program's own fault.
func isToAvoid(i *v1alpha1.Incident, incidents []v1alpha1.Incident, since time.Time) bool {
	if state.IsNodeFault(i.Reason) {
		return true
	}
	return isStrike(i) && strikesOn(i.Node, incidents, since) >= strikesForExits && !failedElsewhere(i.Node, incidents, since)
}

// takeBack returns the avoided nodes without the strikes of incidents that began elsewhere, as shows now.
func takeBack(avoided []v1alpha1.AvoidedNode, amendments []Amendment) []v1alpha1.AvoidedNode {
	avoided = slices.Clone(avoided)
	for i := range amendments {
		was, is := &amendments[i].Was, &amendments[i].Is
		at := slices.IndexFunc(avoided, func(n v1alpha1.AvoidedNode) bool { return n.Name == was.Node })
		if at < 0 || !isStrike(was) || is.Node == was.Node && isStrike(is) {
			continue
		}
		n := &avoided[at]
		if n.Strikes--; n.Strikes < 1 || !state.IsNodeFault(n.Reason) && n.Strikes < strikesForExits {
			avoided = slices.Delete(avoided, at, at+1)
		}
	}
	return avoided
}

// isStrike reports whether the node may have to do with the incident. What is somebody's decision (a drain, a preemption, a
// deletion), the consequence of a loss elsewhere, or the program's own fault, is not.
func isStrike(i *v1alpha1.Incident) bool { return state.IsNodeFault(i.Reason) || isExit(i) }

// isExit reports whether the incident began with the end of a program that something outside of it may have caused.
func isExit(i *v1alpha1.Incident) bool {
	isConsequence := i.Explained && !i.Charged
	return (i.Cause == v1alpha1.CauseRetryable || i.Cause == v1alpha1.CauseStartup) && !isConsequence
}

// strikesOn returns how many incidents since then speak against the node.
func strikesOn(node string, incidents []v1alpha1.Incident, since time.Time) int32 {
	var n int32
	for i := range incidents {
		if incidents[i].Node == node && isStrike(&incidents[i]) && incidents[i].RestartTime.After(since) {
			n++
		}
	}
	return n
}

// failedElsewhere reports whether the program failed on another node since then.
func failedElsewhere(node string, incidents []v1alpha1.Incident, since time.Time) bool {
	return slices.ContainsFunc(incidents, func(i v1alpha1.Incident) bool {
		return i.Node != "" && i.Node != node && isExit(&i) && i.RestartTime.After(since)
	})
}
