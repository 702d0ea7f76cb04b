package sim_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/invariant"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// A run is one story: a world with one job, operators of which one leads, and what has gone wrong.
type run struct {
	*world.World
	check     *invariant.Checker
	operators []*operator.Process
	// faults decide what goes wrong; none are made after they are set to nothing.
	faults faults
	// late are the requests that are still on their way.
	late []lateRequest
	// writes and reads count the requests and reads of all operators.
	writes, reads int
	// starts counts how often an operator started anew.
	starts int
	frozen *operator.Process
	// keepsEnded is whether the operators keep pods whose process has ended.
	keepsEnded bool
}

type lateRequest struct {
	request *server.Request
	at      time.Time
}

// faults are what a run does to its operators.
type faults interface {
	// write returns what becomes of the n-th write.
	write(r *run, n int, request *server.Request) operator.Outcome
	// read is told of the n-th read and returns its error.
	read(r *run, p *operator.Process, n int, kind server.Kind, live bool) error
	// seen returns what a process sees of its reads beside the caches.
	seen(now, last state.Seen) state.Seen
	// lag returns how many changes a cache does not take in at this moment.
	lag(r *run, p *operator.Process, kind server.Kind) int
	// delay returns how long a late request is on its way.
	delay(r *run) time.Duration
	// thaw lets time pass while an operator is frozen.
	thaw(r *run)
}

// with adds operators; tell, if set, hears the story.
func (r *run) with(operators int, tell func(string)) *run {
	inside := &operator.World{Server: r.Server, Clock: r.Clock, Faults: r, KeepsEnded: r.keepsEnded, Event: r.check.Event, Line: r.check.Line, Told: r.check.Told, Page: r.Page, Stacks: r.StacksOf, Renewals: r.Renewals}
	if tell != nil {
		say := func(format string, args ...any) {
			tell(fmt.Sprintf("%8v  ", r.Clock.Elapsed()) + fmt.Sprintf(format, args...))
		}
		r.Say, r.check.Say, inside.Say = say, say, say
	}
	if r.Chance != nil {
		inside.Shuffle = r.Chance.Shuffle
	}
	for i := range operators {
		p := operator.NewProcess("operator "+string(rune('A'+i)), inside, r.Key)
		p.Leads = i == 0
		p.Start(func(server.Kind) int { return 0 })
		r.operators = append(r.operators, p)
	}
	return r
}

// Write decides what becomes of a request.
func (r *run) Write(_ *operator.Process, request *server.Request) operator.Outcome {
	r.writes++
	return r.faults.write(r, r.writes, request)
}

// Read decides whether a read fails.
func (r *run) Read(p *operator.Process, kind server.Kind, live bool) error {
	r.reads++
	return r.faults.read(r, p, r.reads, kind, live)
}

// Seen decides what a process sees of its reads beside the caches.
func (r *run) Seen(now, last state.Seen) state.Seen { return r.faults.seen(now, last) }

// Later takes a request that arrives some time later.
func (r *run) Later(request *server.Request) {
	r.late = append(r.late, lateRequest{request, r.Clock.Now().Add(r.faults.delay(r))})
}

// Frozen lets another operator lead while p is frozen. One is frozen at a time.
func (r *run) Frozen(p *operator.Process) {
	if r.frozen != nil {
		return
	}
	r.frozen = p
	r.lead(r.operators[(slices.Index(r.operators, p)+1)%len(r.operators)])
	r.faults.thaw(r)
	r.frozen = nil
}

// Slow lets time pass while a request of p is under way. One process is held up at a time.
func (r *run) Slow(p *operator.Process) {
	if r.frozen != nil {
		return
	}
	r.frozen = p
	r.faults.thaw(r)
	r.frozen = nil
}

// lead makes p the leader. It was waiting until now, and its cache is as old as the faults have it.
func (r *run) lead(p *operator.Process) {
	for _, q := range r.operators {
		q.Leads = q == p
	}
	r.start(p)
}

func (r *run) start(p *operator.Process) {
	r.starts++
	p.Start(func(kind server.Kind) int { return min(r.faults.lag(r, p, kind), r.Server.Length(kind)) })
}

// deliver lets the late requests arrive whose time has come.
func (r *run) deliver() {
	now := r.Clock.Now()
	r.late = slices.DeleteFunc(r.late, func(l lateRequest) bool {
		if now.Before(l.at) {
			return false
		}
		_, err := r.Server.Do(l.request)
		if r.Say != nil {
			r.Say("late: %s: %v", l.request, err)
		}
		return true
	})
}

// catchUp lets the caches of p take in what the faults do not hold back.
func (r *run) catchUp(p *operator.Process) {
	for _, kind := range server.Kinds {
		if n := p.Cache.Behind(kind) - r.faults.lag(r, p, kind); n > 0 {
			p.Cache.Advance(kind, n)
		}
	}
	p.NoteLag()
}

// isWrong reports whether the run has gone wrong.
func (r *run) isWrong() bool { return r.check.Wrong != "" }

// nothing is the faults of a run in which nothing goes wrong.
type nothing struct{}

func (nothing) write(*run, int, *server.Request) operator.Outcome          { return operator.Done }
func (nothing) read(*run, *operator.Process, int, server.Kind, bool) error { return nil }
func (nothing) seen(now, _ state.Seen) state.Seen                          { return now }
func (nothing) lag(*run, *operator.Process, server.Kind) int               { return 0 }
func (nothing) delay(*run) time.Duration                                   { return 0 }
func (nothing) thaw(*run)                                                  {}
