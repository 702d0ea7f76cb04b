package world

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/pkg/local/server"
)

// renewEvery is how often a kubelet renews its Lease.
const renewEvery = 10 * time.Second

// Leases are the Leases of nodes.
type Leases struct {
	// Mute are the nodes whose kubelets work and do not renew their Leases, by name.
	Mute map[string]bool
	// Slow is in one of how many moments the API server takes a renewal; 0 for every one.
	Slow int

	// renewed are the true times of all renewals, by node.
	renewed map[string][]time.Time
	// shown are the times of the last renewals by the clocks of the nodes, which may be set afterwards.
	shown map[string]time.Time
}

// renew lets the kubelets renew their Leases.
func (w *World) renew() {
	for _, o := range w.Server.List(server.Nodes) {
		name := o.GetName()
		last := latest(w.Leases.renewed[name], w.Clock.Now())
		if !w.isDown(name) && !w.Leases.Mute[name] && w.Clock.Since(last) >= renewEvery && (w.Leases.Slow == 0 || w.oneIn(w.Leases.Slow)) {
			w.Leases.renewed[name] = append(w.Leases.renewed[name], w.Clock.Now())
			w.Leases.shown[name] = w.Clock.Now().Add(w.Skew[name])
		}
	}
}

// latest returns the last of the times until then; zero if there is none.
func latest(times []time.Time, until time.Time) time.Time {
	for _, t := range slices.Backward(times) {
		if !t.After(until) {
			return t
		}
	}
	return time.Time{}
}

// Renewals returns what the API server shows of the Leases: the time of the last renewal of each node that exists, by that node's clock then.
func (w *World) Renewals() map[string]time.Time {
	shown := map[string]time.Time{}
	for _, o := range w.Server.List(server.Nodes) {
		if renewed, isKnown := w.Leases.shown[o.GetName()]; isKnown {
			shown[o.GetName()] = renewed
		}
	}
	return shown
}

// IsSilent reports whether, at that time, two other nodes had renewed their Leases 15 s or more after the node did.
func (w *World) IsSilent(node string, at time.Time) bool {
	last, later := latest(w.Leases.renewed[node], at), 0
	for other, renewed := range w.Leases.renewed {
		if other != node && !latest(renewed, at).Before(last.Add(15*time.Second)) {
			later++
		}
	}
	return !last.IsZero() && later >= 2
}
