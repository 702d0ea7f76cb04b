package nodes_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/test/sim/builder"
)

const renewEvery = 10 * time.Second

// kubelet is a node that renews its Lease from its first renewal on, every 10 s if it says nothing else, until it stops.
type kubelet struct{ first, stops, every time.Duration }

func (k kubelet) interval() time.Duration {
	if k.every > 0 {
		return k.every
	}
	return renewEvery
}

// lastAt returns the last renewal at that time; negative if there is none.
func (k kubelet) lastAt(at time.Duration) time.Duration {
	last := -time.Hour
	for renewed := k.first; renewed <= at && renewed < k.stops; renewed += k.interval() {
		last = renewed
	}
	return last
}

// silentAt returns the silent nodes after reads every 5 s until that time. The API server shows the state of shows(t) at time t.
func silentAt(fleet map[string]kubelet, until, patience time.Duration, shows func(time.Duration) time.Duration) []string {
	var leases nodes.Leases
	for at := time.Duration(0); at <= until; at += 5 * time.Second {
		read := map[string]nodes.Lease{}
		for name, k := range fleet {
			read[name] = nodes.Lease{Renewed: builder.Epoch.Add(k.lastAt(shows(at))), Duration: 4 * k.interval()}
		}
		leases.Add(builder.Epoch.Add(at), builder.Epoch.Add(at), read)
	}
	return slices.Sorted(maps.Keys(leases.Silent(patience)))
}

// fleetOf returns so many nodes that renew for ever, at times spread over 10 s.
func fleetOf(n int) map[string]kubelet {
	fleet := map[string]kubelet{}
	for i := range n {
		fleet[fmt.Sprintf("node-%d", i)] = kubelet{first: -time.Minute + renewEvery*time.Duration(i)/time.Duration(n), stops: time.Hour}
	}
	return fleet
}

// stop lets the named nodes renew no more from that time on.
func stop(fleet map[string]kubelet, at time.Duration, names ...string) map[string]kubelet {
	for _, name := range names {
		k := fleet[name]
		k.stops = at
		fleet[name] = k
	}
	return fleet
}

// slow lets the named nodes renew every 30 s.
func slow(fleet map[string]kubelet, names ...string) map[string]kubelet {
	for _, name := range names {
		k := fleet[name]
		k.every = 30 * time.Second
		fleet[name] = k
	}
	return fleet
}

func TestSilentNodes(t *testing.T) {
	now := func(at time.Duration) time.Duration { return at }
	frozen := func(at time.Duration) time.Duration { return min(at, 8*time.Second) }
	for _, c := range []struct {
		name            string
		fleet           map[string]kubelet
		until, patience time.Duration
		shows           func(time.Duration) time.Duration
		want            []string
	}{
		{"a node that stops is silent after 25 s", stop(fleetOf(8), 0, "node-3"), 25 * time.Second, 0, now, []string{"node-3"}},
		{"not after 20 s: the others may be as late", stop(fleetOf(8), 0, "node-3"), 20 * time.Second, 0, now, nil},
		{"a longer --node-lost-after is heeded", stop(fleetOf(8), 0, "node-3"), 55 * time.Second, time.Minute, now, nil},
		{"and it is silent after that", stop(fleetOf(8), 0, "node-3"), 70 * time.Second, time.Minute, now, []string{"node-3"}},
		{"a shorter one is not", stop(fleetOf(8), 0, "node-3"), 15 * time.Second, time.Second, now, nil},
		{"of eight nodes two stop", stop(fleetOf(8), 0, "node-3", "node-4"), time.Minute, 0, now, []string{"node-3", "node-4"}},
		{"if more than a quarter of the others stop, no node is silent", stop(fleetOf(8), 0, "node-3", "node-4", "node-5"), time.Minute, 0, now, nil},
		{"of forty nodes four stop", stop(fleetOf(40), 0, "node-0", "node-10", "node-20", "node-30"), time.Minute, 0, now, []string{"node-0", "node-10", "node-20", "node-30"}},
		{"if more than a tenth stop, an API server among several may have", stop(fleetOf(40), 0, "node-0", "node-10", "node-20", "node-30", "node-35"), time.Minute, 0, now, nil},
		{"a node whose Lease counts for longer renews it later", slow(fleetOf(8), "node-3"), 40 * time.Second, 0, now, nil},
		{"when it stops, it is silent after three eighths of that", stop(slow(fleetOf(8), "node-3"), 0, "node-3"), 65 * time.Second, 0, now, []string{"node-3"}},
		{"all stop: the API server takes no renewals", stop(fleetOf(3), 0, "node-0", "node-1", "node-2"), time.Minute, 0, now, nil},
		{"the API server shows an old state", fleetOf(8), time.Minute, 0, frozen, nil},
		{"of three nodes one stops", stop(fleetOf(3), 0, "node-1"), 25 * time.Second, 0, now, []string{"node-1"}},
		{"of two nodes one stops: one witness is too few", stop(fleetOf(2), 0, "node-1"), time.Minute, 0, now, nil},
		{"one node", stop(fleetOf(1), 0, "node-0"), time.Minute, 0, now, nil},
	} {
		if diff := cmp.Diff(c.want, silentAt(c.fleet, c.until, c.patience, c.shows)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestANodeThatRenewsIsNotSilentAnyMore(t *testing.T) {
	var leases nodes.Leases
	add := func(at time.Duration, renewed time.Duration) []string {
		read := map[string]nodes.Lease{"late": {Renewed: builder.Epoch.Add(renewed)}, "off": {IsOff: true}}
		for _, other := range []string{"a", "b", "c"} {
			read[other] = nodes.Lease{Renewed: builder.Epoch.Add(at)}
		}
		leases.Add(builder.Epoch.Add(at), builder.Epoch.Add(at), read)
		silent := leases.Silent(0)
		delete(silent, "off")
		return slices.Sorted(maps.Keys(silent))
	}
	for at := range 5 {
		add(time.Duration(at)*5*time.Second, 0)
	}
	if got := add(25*time.Second, 0); !slices.Equal(got, []string{"late"}) {
		t.Errorf("after 25 s %v are silent", got)
	}
	if got := add(30*time.Second, 29*time.Second); len(got) > 0 {
		t.Errorf("after its renewal %v are silent", got)
	}
}

// A history is drawn: each node renews when it does, the operator's cache shows a node from some time on, and each read shows a state between its
// begin and its end. The true times of the renewals, which the operator does not see, are the oracle.
func TestSilenceIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		second := func(from, to int) time.Duration {
			return time.Duration(rapid.IntRange(from*10, to*10).Draw(t, "time")) * time.Second / 10
		}
		fleet := map[string][]time.Duration{}
		skew, knownFrom := map[string]time.Duration{}, map[string]time.Duration{}
		for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
			name := fmt.Sprintf("node-%d", i)
			skew[name], knownFrom[name] = second(-1000, 1000), second(-100, 100)
			for at := second(-10, 0); at < 3*time.Minute; {
				fleet[name] = append(fleet[name], at)
				if at += second(8, 12); rapid.IntRange(0, 3).Draw(t, "late") == 0 {
					at += second(0, 60)
				}
			}
		}
		var leases nodes.Leases
		for at := time.Duration(0); at < 2*time.Minute; at += second(4, 20) {
			shown := at + second(0, 3)
			ended := shown + second(0, 3)
			read := map[string]nodes.Lease{}
			known := map[string][]time.Duration{}
			for name, renewals := range fleet {
				if shown >= knownFrom[name] {
					known[name] = renewals
					read[name] = nodes.Lease{Renewed: builder.Epoch.Add(lastOf(renewals, shown) + skew[name])}
				}
			}
			leases.Add(builder.Epoch.Add(at), builder.Epoch.Add(ended), read)
			for name := range leases.Silent(0) {
				checkSilence(t, known, name, shown)
			}
			at = ended
		}
	})
}

func lastOf(renewals []time.Duration, at time.Duration) time.Duration {
	last := -time.Hour
	for _, renewed := range renewals {
		if renewed <= at {
			last = renewed
		}
	}
	return last
}

// checkSilence: three of four others have renewed 15 s or more after the node did, and they are two or more. Of others a tenth, or one, have not.
func checkSilence(t *rapid.T, fleet map[string][]time.Duration, name string, at time.Duration) {
	last, later := lastOf(fleet[name], at), 0
	for other, renewals := range fleet {
		if other != name && lastOf(renewals, at) >= last+15*time.Second {
			later++
		}
	}
	if others := len(fleet) - 1; others < 2 || 4*later < 3*others || others-later > max(1, others/10) {
		t.Fatalf("%s counts as silent at %v: it renewed at %v, and %d of %d others have renewed 15 s later", name, at, last, later, others)
	}
}

// A node that stops is found within 40 s, if the others renew every 10 s and every read shows the present state.
func TestSilenceIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fleet := fleetOf(rapid.IntRange(3, 12).Draw(t, "nodes"))
		for name, k := range fleet {
			k.first = -time.Minute + time.Duration(rapid.IntRange(0, 9999).Draw(t, "phase"))*time.Millisecond
			fleet[name] = k
		}
		stop(fleet, 0, "node-1")
		got := silentAt(fleet, 40*time.Second, 0, func(at time.Duration) time.Duration { return at })
		if !slices.Equal(got, []string{"node-1"}) {
			t.Fatalf("%v are silent", got)
		}
	})
}
