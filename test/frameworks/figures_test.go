//go:build frameworks

package frameworks

import (
	"bytes"
	"fmt"
	"sync"
	"text/tabwriter"
	"time"
)

// figures are the times of all runs.
var figures = &ledger{}

type ledger struct {
	sync.Mutex
	starts, faults []string
}

// start notes how long it took from the submission to the first step.
func (l *ledger) start(r *run) {
	begin := r.submitted
	running, met, step := r.lastRunning(begin), r.tape.first(begin, line.isMet), r.tape.first(begin, line.isStep)
	l.Lock()
	defer l.Unlock()
	l.starts = append(l.starts, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", r.name, since(begin, running), since(running, met), since(met, step), since(begin, step)))
}

// fault notes how long each phase of the recovery took. What a framework does not print, or what overlaps, is a dash.
func (l *ledger) fault(r *run, f fault) {
	begin := r.broken
	decided := r.tape.restarted()
	stopped, created, running := r.lastStopped(begin), r.firstCreated(), r.lastRunning(begin)
	met, loaded := r.tape.first(running.Add(-time.Second), line.isMet), r.tape.first(begin, line.isLoad)
	var step time.Time
	if steps := r.tape.find(r.isNewStep()); len(steps) > 0 {
		step = steps[0].at
	}
	l.Lock()
	defer l.Unlock()
	l.faults = append(l.faults, fmt.Sprintf("%s\t%s of %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", r.name, f.label, r.hit,
		since(begin, decided), since(decided, stopped), since(stopped, created), since(created, running), since(running, met), since(met, loaded), since(loaded, step), since(begin, step)))
}

func since(from, to time.Time) string {
	if from.IsZero() || to.IsZero() || to.Before(from) {
		return "-"
	}
	return fmt.Sprintf("%.1f", to.Sub(from).Seconds())
}

// table returns the figures, in seconds.
func (l *ledger) table() string {
	l.Lock()
	defer l.Unlock()
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nfrom submission, in seconds\t\t\t\t")
	fmt.Fprintln(w, "example\tall run\trendezvous\tto the first step\tin all")
	for _, row := range l.starts {
		fmt.Fprintln(w, row)
	}
	fmt.Fprintln(w, "\nfrom the fault, in seconds\t\t\t\t\t\t\t\t\t")
	fmt.Fprintln(w, "example\tfault\tdecide\tstop\tcreate\tstart\trendezvous\tload\tfirst step\tin all")
	for _, row := range l.faults {
		fmt.Fprintln(w, row)
	}
	_ = w.Flush()
	return out.String()
}

func (t *tape) restarted() time.Time {
	t.Lock()
	defer t.Unlock()
	if len(t.restarts) == 0 {
		return time.Time{}
	}
	return t.restarts[0]
}

// lastRunning returns when the last of the pods created after begin ran.
func (r *run) lastRunning(begin time.Time) time.Time {
	return r.latest(func(p *podSeen) time.Time {
		if p.created.Before(begin) {
			return time.Time{}
		}
		return p.running
	})
}

// lastStopped returns when the last of the pods that the fault ended, or the restart after it, had ended. On a node that is
// lost that may be never; on one that is cut off, long after the next life has begun.
func (r *run) lastStopped(begin time.Time) time.Time {
	created := r.firstCreated()
	return r.latest(func(p *podSeen) time.Time {
		if p.created.After(begin) || p.ended.After(created) {
			return time.Time{}
		}
		return p.ended
	})
}

func (r *run) firstCreated() time.Time {
	later := r.later()
	if len(later) == 0 {
		return time.Time{}
	}
	r.tape.Lock()
	defer r.tape.Unlock()
	return r.tape.pods[later[0]].created
}

func (r *run) latest(of func(*podSeen) time.Time) time.Time {
	r.tape.Lock()
	defer r.tape.Unlock()
	var last time.Time
	for _, p := range r.tape.pods {
		if at := of(p); at.After(last) {
			last = at
		}
	}
	return last
}
