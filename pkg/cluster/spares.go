package cluster

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/pkg/state"
)

// A spare that a node rejected or evicted is created again after 5 s, doubling to 5 min: the scheduler chooses the same node
// again. After spares have stayed for calmAfter, the wait begins with 5 s again.
const (
	spareWaitFirst  = 5 * time.Second
	spareWaitAtMost = 5 * time.Minute
	calmAfter       = 2 * spareWaitAtMost
)

// failedSpares is what is remembered about a job's failed spares.
type failedSpares struct {
	// seen are the failed spares that the cache still shows.
	seen map[types.UID]bool
	// until is when spares may be created again. times is how often in a row that was delayed.
	until time.Time
	times int
}

// after returns what to remember after these spares. Spares that fail together count as one failure.
func (f failedSpares) after(spares []state.Pod, now time.Time) failedSpares {
	next := failedSpares{until: f.until, times: f.times}
	for i := range spares {
		p := &spares[i]
		if p.CanRun() || !p.Deleted.IsZero() && !f.seen[p.UID] { // a spare that the operator deleted has not failed
			continue
		}
		if next.seen == nil {
			next.seen = map[types.UID]bool{}
		}
		next.seen[p.UID] = true
		if !f.seen[p.UID] && !now.Before(next.until) {
			if now.After(next.until.Add(calmAfter)) {
				next.times = 0
			}
			next.until = now.Add(min(spareWaitFirst<<min(next.times, 10), spareWaitAtMost))
			next.times++
		}
	}
	return next
}
