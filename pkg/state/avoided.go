package state

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Avoided are the nodes that a job avoids: new pods prefer others.
type Avoided []v1alpha1.AvoidedNode

// AvoidedAt returns the nodes of the list that are still avoided at that time.
func AvoidedAt(nodes []v1alpha1.AvoidedNode, now time.Time) Avoided {
	return slices.DeleteFunc(slices.Clone(nodes), func(n v1alpha1.AvoidedNode) bool { return !now.Before(n.ExpirationTime.Time) })
}

// Now reports whether the job avoids the node.
func (a Avoided) Now(node string) bool { return a.Of(node) != nil }

// Of returns the entry of the node; nil if the job does not avoid it.
func (a Avoided) Of(node string) *v1alpha1.AvoidedNode {
	if i := slices.IndexFunc(a, func(n v1alpha1.AvoidedNode) bool { return n.Name == node }); i >= 0 {
		return &a[i]
	}
	return nil
}

// Avoided returns the nodes that the job avoids now.
func (o *Observed) Avoided() Avoided { return AvoidedAt(o.Job.Status.AvoidedNodes, o.Now) }

// AvoidFor returns for how long a job avoids a node; zero for not at all.
func AvoidFor(spec *v1alpha1.TrainingJobSpec) time.Duration {
	return time.Duration(ptr.Deref(spec.Recovery.AvoidNodesSeconds, v1alpha1.DefaultAvoidNodesSeconds)) * time.Second
}
