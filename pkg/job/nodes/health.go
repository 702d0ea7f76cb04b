package nodes

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/pkg/job/state"
)

// maxUnhealthy is how many unhealthy nodes new pods avoid at most. The nodes that have been unhealthy for longest come first.
const maxUnhealthy = 64

// Unhealthy returns, sorted, the names of the nodes that a condition or a taint shows to be unhealthy or lost: the scheduler reads no such
// condition. It leaves out nodes that are only cordoned, because the scheduler keeps pods off them.
func Unhealthy(all []corev1.Node, lostAfter time.Duration, signals Signals) []string {
	var unhealthy []state.Node
	for i := range all {
		isSignalled := slices.ContainsFunc(all[i].Status.Conditions, func(c corev1.NodeCondition) bool { return signals.Match(&c) }) ||
			slices.ContainsFunc(all[i].Spec.Taints, func(t corev1.Taint) bool { return signals[Signal{TaintSignal, t.Key}] > state.IgnoreNode })
		if isSignalled {
			unhealthy = append(unhealthy, Of(&all[i], lostAfter, signals))
		}
	}
	since := func(n state.Node) time.Time { return state.Latest(n.Since, n.Unhealthy.Time) } // one of them is set
	slices.SortFunc(unhealthy, func(a, b state.Node) int { return cmp.Or(since(a).Compare(since(b)), cmp.Compare(a.Name, b.Name)) })
	var names []string
	for _, n := range unhealthy[:min(len(unhealthy), maxUnhealthy)] {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names
}

// Matter reports whether a replica of the job has no node yet. Only then does it matter which nodes are unhealthy.
func Matter(s *state.Snapshot) bool {
	return !s.IsFinished() && !s.Job.Spec.IsSuspended() && s.Any((*state.Replica).LacksNode)
}
