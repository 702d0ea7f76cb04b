package fleet

import (
	"container/heap"
	"time"

	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/operator"
)

const (
	// moment is the shortest time in which anything changes.
	moment = 250 * time.Millisecond
	// passesInAMoment is how often the operator may look at the job in a moment.
	passesInAMoment = 4
)

// Live lets the cluster and the operator live until isOver says so after some step, which passes are told of: how long it took. It
// reports whether that came before the deadline.
func (f *Fleet) Live(p *operator.Process, until time.Time, passed func(time.Duration), isOver func() bool) bool {
	for f.Clock.now.Before(until) {
		f.happen()
		f.bindAll()
		for range passesInAMoment {
			if f.show(p); !p.IsAwake() {
				break
			}
			p.Reconcile()
		}
		f.show(p)
		f.Forget(p.Cache)
		if isOver() {
			return true
		}
		passed(f.pass(p, until))
	}
	return false
}

// show lets the operator's cache take in all that has changed.
func (f *Fleet) show(p *operator.Process) {
	for _, kind := range server.Kinds {
		p.Cache.Advance(kind, p.Cache.Behind(kind))
	}
}

// happen lets happen what is due.
func (f *Fleet) happen() {
	for len(f.future) > 0 && !f.Clock.now.Before(f.future[0].at) {
		heap.Pop(&f.future).(event).what()
	}
}

// pass moves the clock to the next moment in which anything can happen, and returns how long that was.
func (f *Fleet) pass(p *operator.Process, until time.Time) time.Duration {
	next := until
	if len(f.future) > 0 && f.future[0].at.Before(next) {
		next = f.future[0].at
	}
	if wakes := p.Wakes(); !wakes.IsZero() && wakes.Before(next) {
		next = wakes
	}
	took := max(next.Sub(f.Clock.now), moment)
	if p.IsAwake() || len(f.unbound) > 0 {
		took = moment
	}
	f.Clock.now = f.Clock.now.Add(took)
	if f.mayBind += took.Seconds() * float64(f.Times.PodsPerSecond); took > moment {
		f.mayBind = 0
	}
	return took
}
