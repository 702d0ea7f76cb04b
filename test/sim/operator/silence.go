package operator

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/local/server"
)

// timers is the clock of a process with what it does later.
type timers struct {
	clock.WithDelayedExecution
	clock.PassiveClock
	due []timer
}

type timer struct {
	at time.Time
	do func()
}

// Now returns the time.
func (t *timers) Now() time.Time { return t.PassiveClock.Now() }

// Since returns the time that has passed since then.
func (t *timers) Since(then time.Time) time.Duration { return t.PassiveClock.Since(then) }

// AfterFunc does something after that time, at a look of the process.
func (t *timers) AfterFunc(d time.Duration, do func()) clock.Timer {
	t.due = append(t.due, timer{t.Now().Add(d), do})
	return nil
}

// run does what is due.
func (t *timers) run() {
	var now []timer
	t.due = slices.DeleteFunc(t.due, func(next timer) bool {
		if isDue := !t.Now().Before(next.at); isDue {
			now = append(now, next)
			return true
		}
		return false
	})
	for _, next := range now {
		next.do()
	}
}

// readLeases reads the Leases of all nodes, with what the cache shows of the nodes.
func (p *Process) readLeases(context.Context) (map[string]nodes.Lease, error) {
	if err := p.read(server.Nodes, true); err != nil {
		return nil, err
	}
	read := map[string]nodes.Lease{}
	for name, renewed := range p.world.Renewals() {
		if node, isKnown := p.Cache.Get(server.Nodes, client.ObjectKey{Name: name}).(*corev1.Node); isKnown {
			read[name] = nodes.LeaseOf(node, renewed, 40*time.Second, p.world.Clock.Now())
		}
	}
	p.leasesRead = p.world.Clock.Now()
	return read, nil
}
