package nodes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	// leastSilence is the shortest time for which a silent node's Lease must have stayed the same, and longestPart is the same as a part of the
	// Lease's duration. Kubelets renew it after a quarter of that, 10 s by default, give a request 10 s, and repeat a failed one at once.
	leastSilence, longestPart = 15 * time.Second, 3.0 / 8
	// fewestWitnesses is how many other nodes must show that the control plane takes renewals, and witnesses how many must for each other node
	// that does not. Of many nodes one in mostMissing may be missing: if an API server among several fails, all kubelets that are connected
	// to it renew nothing for a while.
	fewestWitnesses, witnesses, mostMissing = 2, 3, 10
)

// Lease is what a read shows of the Lease by which a kubelet shows that it runs.
type Lease struct {
	// Renewed is the time of its last renewal by the node's clock, which may be wrong: it is only compared with itself.
	Renewed time.Time
	// Duration is for how long a renewal counts; the kubelet renews after a quarter of it.
	Duration time.Duration
	// IsOff is whether the node has not been ready for long, so that no renewal is expected.
	IsOff bool
}

// LeaseOf returns the Lease of a node that was renewed at that time, for that duration.
func LeaseOf(node *corev1.Node, renewed time.Time, duration time.Duration, now time.Time) Lease {
	n := Of(node, 0, nil)
	return Lease{Renewed: renewed, Duration: duration, IsOff: n.IsNotReady() && now.Sub(n.Since) > state.DoubtFor}
}

// Leases finds silent nodes. It compares reads of all nodes' Leases, by the operator's clock:
//
//	read         1     2     3     4     5     6
//	this node    x     .     .     .     .     .      it renewed before read 1
//	             |---- silence ----|
//	most others  x   x   x   x   x |  x   x           they renewed after read 4: the node is silent from read 6 on
//
// So a control plane that is slow makes no node silent: the others must renew after the silence. A read must show a state that is no older
// than its begin. A node that renews is not silent from the next read on.
type Leases struct {
	// last is when the latest read began.
	last time.Time
	seen map[string]renewal
}

// renewal is the latest renewal of a Lease.
type renewal struct {
	Lease
	// since is when the read ended that showed it first.
	since time.Time
	// after is when the read before began, which showed an earlier one; zero if none did.
	after time.Time
}

// Add adds a read of all Leases, by node, which began and ended at these times.
func (l *Leases) Add(began, ended time.Time, read map[string]Lease) {
	seen := make(map[string]renewal, len(read))
	for node, lease := range read {
		known, isKnown := l.seen[node]
		switch {
		case !isKnown: // nothing shows how old its renewal is
			known = renewal{since: ended}
		case !known.Renewed.Equal(lease.Renewed):
			known = renewal{since: ended, after: l.last}
		}
		known.Lease = lease
		seen[node] = known
	}
	l.last, l.seen = began, seen
}

// Silent returns the silent nodes, each with the time of the first read that showed its last renewal. Their Leases have stayed the same for
// the time of patience at least.
func (l *Leases) Silent(patience time.Duration) map[string]time.Time {
	var votes []time.Time
	for _, lease := range l.seen {
		if !lease.IsOff {
			votes = append(votes, lease.after)
		}
	}
	slices.SortFunc(votes, time.Time.Compare)
	silent := map[string]time.Time{}
	for node, lease := range l.seen {
		others := len(votes)
		if !lease.IsOff {
			others--
		}
		end := lease.since.Add(max(patience, leastSilence, time.Duration(longestPart*float64(lease.Duration))))
		first, _ := slices.BinarySearchFunc(votes, end, time.Time.Compare)
		renewed := len(votes) - first
		missing := others - renewed
		if renewed >= max(fewestWitnesses, witnesses*missing) && missing <= max(1, others/mostMissing) {
			silent[node] = lease.since
		}
	}
	return silent
}

// WithSilent returns the nodes with the silent ones, which count as lost unless they do already.
func WithSilent(known []state.Node, silent map[string]time.Time, now time.Time) []state.Node {
	all := slices.Clone(known)
	for name, since := range silent {
		i := slices.IndexFunc(all, func(n state.Node) bool { return n.Name == name })
		if i < 0 {
			i, all = len(all), append(all, state.Node{Name: name})
		}
		if n := &all[i]; !n.LostBy(now) {
			n.Since, n.Loss = since, state.Trouble{
				Reason: v1alpha1.ReasonNodeSilent, Message: "its kubelet does not renew its Lease, while most others do", Time: since,
			}
		}
	}
	return all
}
