package policy

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	// strikesForNotRestarting is how many pods in a row on a node that do not restart in place make the job avoid it.
	strikesForNotRestarting = 2
	// maxNotRestarted is how many such pods a status remembers at most. Beyond it none is added.
	maxNotRestarted = 32
)

// countNotRestarted enters the pods that are given up now as they have not restarted in place. They are deleted once that is written, so
// each is counted once, whatever crashes. Their node is avoided from the second on if no pod has restarted in place there since the first.
func (a *Accounts) countNotRestarted(s *state.Snapshot) {
	ttl := time.Duration(ptr.Deref(s.Job.Spec.Recovery.AvoidNodesSeconds, v1alpha1.DefaultAvoidNodesSeconds)) * time.Second
	now := metav1.NewTime(s.Now.Truncate(time.Second))
	a.NotRestarted = stillCounted(s, a.NotRestarted, now.Add(-ttl))
	for i := range s.Pods {
		p := &s.Pods[i]
		isOf := func(n v1alpha1.NotRestarted) bool { return n.Node == p.Node }
		isKnown := slices.ContainsFunc(a.NotRestarted, func(n v1alpha1.NotRestarted) bool { return n.Pod == p.Name })
		if ttl == 0 || isKnown || !s.HasNotRestarted(p) || !p.Deleted.IsZero() || len(a.NotRestarted) >= maxNotRestarted {
			continue
		}
		switch n := len(slices.DeleteFunc(slices.Clone(a.NotRestarted), func(n v1alpha1.NotRestarted) bool { return !isOf(n) })); {
		case n >= strikesForNotRestarting: // the job avoids the node already
			continue
		case n == strikesForNotRestarting-1:
			a.strike(v1alpha1.AvoidedNode{Name: p.Node, Reason: v1alpha1.ReasonNotRestarted, Until: metav1.NewTime(now.Add(ttl))})
		}
		a.NotRestarted = append(a.NotRestarted, v1alpha1.NotRestarted{Pod: p.Name, Node: p.Node, Time: now})
	}
}

// stillCounted returns those of the pods that were given up after since, and on whose node none has restarted in place afterwards.
func stillCounted(s *state.Snapshot, pods []v1alpha1.NotRestarted, since time.Time) []v1alpha1.NotRestarted {
	return slices.DeleteFunc(slices.Clone(pods), func(n v1alpha1.NotRestarted) bool {
		return !n.Time.After(since) || slices.ContainsFunc(s.Pods, func(p state.Pod) bool {
			hasRestarted := !p.Restarting && p.Name != state.PodName(s.Job.Name, p.Slot, p.Life)
			return hasRestarted && p.Node == n.Node && p.Created.After(n.Time.Time)
		})
	})
}

// strike enters one more strike of a node.
func (a *Accounts) strike(node v1alpha1.AvoidedNode) {
	at := slices.IndexFunc(a.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return n.Name == node.Name })
	if at >= 0 {
		node.Strikes = a.AvoidedNodes[at].Strikes
		a.AvoidedNodes = slices.Delete(a.AvoidedNodes, at, at+1)
	}
	node.Strikes++
	a.AvoidedNodes = latest(append(a.AvoidedNodes, node))
}
