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
	maxAvoided = 16
	// strikesForExits is how many failures on a node make the job avoid it although the node itself did not break.
	strikesForExits = 2
)

// Avoid returns the nodes that the job's new pods keep off, now that incidents are what they are.
func Avoid(s *state.Snapshot, incidents []v1alpha1.Incident) []v1alpha1.AvoidedNode {
	ttl := time.Duration(ptr.Deref(s.Job.Spec.Recovery.AvoidNodesSeconds, v1alpha1.DefaultAvoidNodesSeconds)) * time.Second
	avoided := slices.DeleteFunc(slices.Clone(s.Job.Status.AvoidedNodes), func(n v1alpha1.AvoidedNode) bool { return !s.Now.Before(n.Until.Time) })
	incidents = slices.Concat(incidents, besides(s, incidents))
	for _, i := range incidents {
		strikes := strikesOn(i.Node, incidents, s.Now.Add(-ttl))
		until := metav1.NewTime(i.RestartTime.Add(ttl))
		if i.Node == "" || !s.Now.Before(until.Time) || (!isNodeFault(&i.Failure) && strikes < strikesForExits) {
			continue
		}
		at := slices.IndexFunc(avoided, func(n v1alpha1.AvoidedNode) bool { return n.Name == i.Node })
		if at < 0 {
			avoided, at = append(avoided, v1alpha1.AvoidedNode{Name: i.Node}), len(avoided)
		}
		n := &avoided[at]
		n.Strikes = max(n.Strikes, strikes)
		if n.Until.Before(&until) {
			n.Until, n.Reason = until, i.Reason
		}
	}
	if len(avoided) > maxAvoided {
		slices.SortFunc(avoided, func(a, b v1alpha1.AvoidedNode) int { return b.Until.Compare(a.Until.Time) })
		avoided = avoided[:maxAvoided]
	}
	slices.SortFunc(avoided, func(a, b v1alpha1.AvoidedNode) int { return cmp.Compare(a.Name, b.Name) })
	return avoided
}

// besides returns, as if each were an incident of its own, the nodes that are lost together with the one that the latest
// incident names.
func besides(s *state.Snapshot, incidents []v1alpha1.Incident) []v1alpha1.Incident {
	now := metav1.NewTime(s.Now.Truncate(time.Second))
	if len(incidents) == 0 || !incidents[0].RestartTime.Equal(&now) || !isNodeFault(&incidents[0].Failure) {
		return nil
	}
	var more []v1alpha1.Incident
	for _, n := range s.Nodes {
		named := slices.ContainsFunc(incidents, func(i v1alpha1.Incident) bool { return i.Node == n.Name && i.RestartTime.Equal(&now) })
		if !named && n.Lost.Reason != v1alpha1.ReasonNodeDeleted && !s.Now.Before(n.Lost.Time) {
			more = append(more, v1alpha1.Incident{
				Failure: v1alpha1.Failure{Node: n.Name, Cause: v1alpha1.CauseInfrastructure, Reason: n.Lost.Reason}, RestartTime: now,
			})
		}
	}
	return more
}

// isNodeFault reports whether the node itself broke, so that once is enough.
func isNodeFault(f *v1alpha1.Failure) bool {
	return slices.Contains([]string{
		v1alpha1.ReasonNodeLost, v1alpha1.ReasonNodeTainted, v1alpha1.ReasonDeviceUnhealthy, "UnexpectedAdmissionError", "DeletionByTaintManager",
	}, f.Reason)
}

// strikesOn returns how many incidents since then began on the node in a way that the node may have to do with. What
// is somebody's decision (a drain, a preemption, a deletion), or the program's own fault, is not.
func strikesOn(node string, incidents []v1alpha1.Incident, since time.Time) int32 {
	var n int32
	for _, i := range incidents {
		mayBe := isNodeFault(&i.Failure) || i.Cause == v1alpha1.CauseRetryable || i.Cause == v1alpha1.CauseStartup
		if i.Node == node && mayBe && i.RestartTime.After(since) {
			n++
		}
	}
	return n
}
