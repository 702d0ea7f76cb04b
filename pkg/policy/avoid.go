package policy

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	// maxAvoided is how many nodes a job avoids at most: the latest ones.
	maxAvoided = 16
	// failuresForExits is how many failures on a node make the job avoid it although the node itself did not break.
	failuresForExits = 2
)

// avoided returns the nodes to which new pods of the job prefer all others, sorted: those of the status, and those that are unhealthy.
func avoided(s *state.Snapshot) []string {
	nodes := slices.Clone(s.Ill)
	for _, n := range s.Avoided() {
		nodes = append(nodes, n.Name)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// avoidedAfter returns the nodes that the job avoids now that incidents are what they are, some of them by amendments.
func avoidedAfter(s *state.Snapshot, incidents []v1alpha1.Incident, amendments []Amendment) []v1alpha1.AvoidedNode {
	ttl := state.AvoidFor(&s.Job.Spec)
	since := s.Now.Add(-ttl)
	incidents = slices.Concat(incidents, besides(s, incidents))
	list := avoidList(s.Avoided())
	for i := range amendments {
		list = list.remove(&amendments[i])
	}
	for _, i := range incidents {
		if i.Node != "" && i.RestartTime.After(since) && isToAvoid(&i, incidents, since) {
			list = list.add(v1alpha1.AvoidedNode{
				Name: i.Node, Failures: failuresOn(i.Node, incidents, since), Reason: i.Reason, ExpirationTime: metav1.NewTime(i.RestartTime.Add(ttl)),
			})
		}
	}
	return list.latest()
}

// avoidList are the nodes that a job avoids. All that changes the list is here.
type avoidList []v1alpha1.AvoidedNode

// add returns the list with the node, for the longer of the times. The reason that the node itself broke stays.
func (l avoidList) add(node v1alpha1.AvoidedNode) avoidList {
	known := state.Avoided(l).Of(node.Name)
	if known == nil {
		return append(l, node)
	}
	known.Failures = max(known.Failures, node.Failures)
	if known.ExpirationTime.Before(&node.ExpirationTime) {
		known.ExpirationTime = node.ExpirationTime
		if state.IsNodeFault(node.Reason) || !state.IsNodeFault(known.Reason) {
			known.Reason = node.Reason
		}
	}
	return l
}

// remove returns the list without the failure of an incident that began elsewhere, as shows now.
func (l avoidList) remove(amendment *Amendment) avoidList {
	was, is := &amendment.Was, &amendment.Is
	n := state.Avoided(l).Of(was.Node)
	if n == nil || !countsAgainstNode(was) || is.Node == was.Node && countsAgainstNode(is) {
		return l
	}
	if n.Failures--; n.Failures < 1 || !state.IsNodeFault(n.Reason) && n.Failures < failuresForExits {
		return slices.DeleteFunc(l, func(n v1alpha1.AvoidedNode) bool { return n.Name == was.Node })
	}
	return l
}

// latest returns the nodes by name; the latest ones, if they are too many.
func (l avoidList) latest() []v1alpha1.AvoidedNode {
	if len(l) > maxAvoided {
		slices.SortStableFunc(l, func(a, b v1alpha1.AvoidedNode) int { return b.ExpirationTime.Compare(a.ExpirationTime.Time) })
		l = l[:maxAvoided]
	}
	slices.SortFunc(l, func(a, b v1alpha1.AvoidedNode) int { return cmp.Compare(a.Name, b.Name) })
	return l
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

// isToAvoid reports whether the incident makes the job avoid its node: at once if the node itself broke, after several exits of the program
// on it otherwise.
func isToAvoid(i *v1alpha1.Incident, incidents []v1alpha1.Incident, since time.Time) bool {
	return state.IsNodeFault(i.Reason) || countsAgainstNode(i) && failuresOn(i.Node, incidents, since) >= failuresForExits
}

// countsAgainstNode reports whether the node may have to do with the incident. What is somebody's decision (a drain, a preemption, a
// deletion), the consequence of a loss elsewhere, or the program's own fault, is not.
func countsAgainstNode(i *v1alpha1.Incident) bool { return state.IsNodeFault(i.Reason) || isExit(i) }

// isExit reports whether the incident began with the end of a program that something outside of it may have caused.
func isExit(i *v1alpha1.Incident) bool {
	isConsequence := i.Explained && !i.Charged
	return (i.Cause == v1alpha1.CauseRetryable || i.Cause == v1alpha1.CauseStartup) && !isConsequence
}

// failuresOn returns how many incidents since then speak against the node.
func failuresOn(node string, incidents []v1alpha1.Incident, since time.Time) int32 {
	var n int32
	for i := range incidents {
		if incidents[i].Node == node && countsAgainstNode(&incidents[i]) && incidents[i].RestartTime.After(since) {
			n++
		}
	}
	return n
}
