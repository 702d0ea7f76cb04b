package sim_test

import (
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/operator"
)

// variant is a scenario with something that goes wrong.
type variant struct {
	name   string
	faults faults
}

// The short form plays one of so many variants. It is a prime, so that each kind of fault gets its turn.
const inShort = 37

// repeat plays each scenario once as it is, to count its writes and reads, and then in every variant. The outcome must be the
// same, and no invariant may break.
func repeat(t *testing.T, variants func(writes, reads int) []variant) {
	var runs atomic.Int64
	begin := time.Now()
	t.Run("all", func(t *testing.T) { // it returns when the parallel ones have ended
		for i := range scenarios {
			s := &scenarios[i]
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				dry := s.run(nothing{}, nil)
				every := max(1, s.every)
				if testing.Short() {
					every *= inShort
				}
				for i, v := range variants(dry.writes, dry.reads) {
					if i%every != 0 {
						continue
					}
					t.Run(v.name, func(t *testing.T) { s.check(t, v.faults) })
					runs.Add(1)
				}
			})
		}
	})
	t.Logf("%d runs, %v", runs.Load(), time.Since(begin).Round(time.Millisecond))
}

// check plays one variant.
func (s *scenario) check(t *testing.T, f faults) *run {
	r := s.run(f, teller(t))
	walked.add(r, t.Name())
	if r.isWrong() {
		t.Errorf("%s\nreplay: go test ./test/sim -v -run '%s$'", r.check.Wrong, t.Name())
	}
	return r
}

// teller returns who tells the story of a run: nobody, unless it is the only one.
func teller(t *testing.T) func(string) {
	if asked := flag.Lookup("test.run"); !testing.Verbose() || asked == nil || strings.Count(asked.Value.String(), "/") < strings.Count(t.Name(), "/") {
		return nil
	}
	return func(line string) { t.Log(line) }
}

// oneWrite lets one write go wrong.
type oneWrite struct {
	nothing
	at      int
	outcome operator.Outcome
}

func (o oneWrite) write(_ *run, n int, _ *server.Request) operator.Outcome {
	if n == o.at {
		return o.outcome
	}
	return operator.Done
}

// lies reports whether the answer was wrong: no API server says that an object is not there, or has changed, that is there and has
// the UID that the request asks for.
func (o oneWrite) lies() bool {
	return o.outcome == operator.NotFound || o.outcome == operator.Conflict
}

// delay is how long a late request is on its way: long enough for another operator to have moved on.
func (oneWrite) delay(*run) time.Duration { return 7 * time.Second }

// thaw lets another operator lead for ten seconds while the first one is frozen.
func (oneWrite) thaw(r *run) {
	for range 20 {
		r.step()
	}
}

// oneRead holds back the cache that one read reads from, or lets the read fail if it goes to the API server.
type oneRead struct {
	nothing
	at   int
	held struct {
		process *operator.Process
		kind    server.Kind
		until   time.Time
	}
}

// heldFor is how long a cache is held back: longer than an operator waits for its own writes.
const heldFor = 8 * time.Second

func (o *oneRead) read(r *run, p *operator.Process, n int, kind server.Kind, live bool) error {
	switch {
	case n != o.at:
		return nil
	case live:
		return operator.Unavailable
	}
	o.held.process, o.held.kind, o.held.until = p, kind, r.Clock.Now().Add(heldFor)
	return nil
}

func (o *oneRead) lag(r *run, p *operator.Process, kind server.Kind) int {
	if p == o.held.process && kind == o.held.kind && r.Clock.Now().Before(o.held.until) {
		return p.Cache.Behind(kind)
	}
	return 0
}

// bothFor is how long two operators work at the same time.
const bothFor = 15 * time.Second

// bothWork lets both operators work at the same time, for a while; the second one's caches are behind.
type bothWork struct {
	nothing
	behind int
	kinds  []server.Kind
}

func (*bothWork) bothWork(r *run) bool { return r.Clock.Elapsed() < bothFor }

func (b *bothWork) lag(r *run, p *operator.Process, kind server.Kind) int {
	for _, k := range b.kinds {
		if b.bothWork(r) && k == kind && p == r.operators[1] {
			return b.behind
		}
	}
	return 0
}

// TestCrash lets the operator crash before and after every write of every scenario.
func TestCrash(t *testing.T) {
	repeat(t, func(writes, _ int) []variant {
		var all []variant
		for k := range writes {
			all = append(all,
				variant{fmt.Sprintf("before_write_%d", k+1), oneWrite{at: k + 1, outcome: operator.CrashBefore}},
				variant{fmt.Sprintf("after_write_%d", k+1), oneWrite{at: k + 1, outcome: operator.CrashAfter}})
		}
		return all
	})
}

// TestErrors lets every write of every scenario fail, with every kind of error.
func TestErrors(t *testing.T) {
	repeat(t, func(writes, _ int) []variant {
		var all []variant
		for k := range writes {
			for _, e := range operator.Errors {
				name := strings.NewReplacer(" ", "_", ",", "").Replace(string(e))
				all = append(all, variant{fmt.Sprintf("%s_at_write_%d", name, k+1), oneWrite{at: k + 1, outcome: e}})
			}
		}
		return all
	})
}

// TestStale lets the cache that every read of every scenario reads from fall behind from then on, for a while.
func TestStale(t *testing.T) {
	repeat(t, func(_, reads int) []variant {
		var all []variant
		for k := range reads {
			all = append(all, variant{fmt.Sprintf("from_read_%d", k+1), &oneRead{at: k + 1}})
		}
		return all
	})
}

// TestTwoOperators lets another operator lead while a write of the first is on its way: because it crashed, or is frozen and goes
// on with its work afterwards; lets each write arrive twice; and lets both work for a while, one with an old cache.
func TestTwoOperators(t *testing.T) {
	repeat(t, func(writes, _ int) []variant {
		var all []variant
		for k := range writes {
			all = append(all,
				variant{fmt.Sprintf("late_write_%d", k+1), oneWrite{at: k + 1, outcome: operator.CrashLate}},
				variant{fmt.Sprintf("frozen_at_write_%d", k+1), oneWrite{at: k + 1, outcome: operator.Freeze}},
				variant{fmt.Sprintf("slow_at_write_%d", k+1), oneWrite{at: k + 1, outcome: operator.Slow}},
				variant{fmt.Sprintf("write_%d_twice", k+1), oneWrite{at: k + 1, outcome: operator.Twice}})
		}
		for behind := range 6 {
			all = append(all,
				variant{fmt.Sprintf("both_jobs_%d_behind", behind), &bothWork{behind: behind, kinds: []server.Kind{server.Jobs}}},
				variant{fmt.Sprintf("both_pods_%d_behind", behind), &bothWork{behind: behind, kinds: []server.Kind{server.Pods}}},
				variant{fmt.Sprintf("both_all_%d_behind", behind), &bothWork{behind: behind, kinds: server.Kinds}})
		}
		return all
	})
}
