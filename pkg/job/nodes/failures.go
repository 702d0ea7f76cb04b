package nodes

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

const (
	// maxNodes is of how many nodes a job remembers failures, and maxTimes how many of each: the latest ones.
	maxNodes = 64
	maxTimes = 10
)

// Failures are the failures that count against nodes. An incident counts once, by the time of its restart. Only this file changes them.
type Failures []v1alpha1.NodeFailures

// on returns how many failures count against the node.
func (f Failures) on(node string) int32 {
	if i := f.index(node); i >= 0 {
		return int32(len(f[i].Times))
	}
	return 0
}

func (f Failures) index(node string) int {
	return slices.IndexFunc(f, func(n v1alpha1.NodeFailures) bool { return n.Node == node })
}

// after returns the failures after that time.
func (f Failures) after(since time.Time) Failures {
	var fresh Failures
	for _, n := range f {
		n.Times = slices.DeleteFunc(slices.Clone(n.Times), func(at metav1.Time) bool { return !at.After(since) })
		if len(n.Times) > 0 {
			fresh = append(fresh, n)
		}
	}
	return fresh
}

// add returns the failures with that one, unless it is among them.
func (f Failures) add(node string, at metav1.Time) Failures {
	i := f.index(node)
	if i < 0 {
		return append(f, v1alpha1.NodeFailures{Node: node, Times: []metav1.Time{at}})
	}
	n := &f[i]
	if !slices.ContainsFunc(n.Times, func(known metav1.Time) bool { return known.Equal(&at) }) {
		n.Times = append(n.Times, at)
		slices.SortFunc(n.Times, func(a, b metav1.Time) int { return a.Compare(b.Time) })
		n.Times = n.Times[max(0, len(n.Times)-maxTimes):]
	}
	return f
}

// remove returns the failures without that one.
func (f Failures) remove(node string, at metav1.Time) Failures {
	for i := range f {
		if f[i].Node == node {
			f[i].Times = slices.DeleteFunc(f[i].Times, func(known metav1.Time) bool { return known.Equal(&at) })
		}
	}
	return slices.DeleteFunc(f, func(n v1alpha1.NodeFailures) bool { return len(n.Times) == 0 })
}

// latest returns the failures sorted by node. Of more than maxNodes nodes it returns those that failed last.
func (f Failures) latest() Failures {
	if len(f) > maxNodes {
		slices.SortStableFunc(f, func(a, b v1alpha1.NodeFailures) int {
			return b.Times[len(b.Times)-1].Compare(a.Times[len(a.Times)-1].Time)
		})
		f = f[:maxNodes]
	}
	slices.SortFunc(f, func(a, b v1alpha1.NodeFailures) int { return cmp.Compare(a.Node, b.Node) })
	return f
}
