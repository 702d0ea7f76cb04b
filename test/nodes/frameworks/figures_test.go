//go:build frameworks

package frameworks

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

// figures are the times of all runs.
var figures = &ledger{}

type ledger struct {
	sync.Mutex
	starts, faults, attributions []string
}

// The phases of a start and of a recovery, in their order.
var (
	startPhases    = []string{"create", "start", "import", "rendezvous", "load", "first step"}
	recoveryPhases = append([]string{"detect", "decide", "stop"}, startPhases...)
)

// start notes how long each phase took from the submission to the first step.
func (l *ledger) start(r *run) {
	marks := append([]time.Time{r.lastCreated()}, r.progress(r.submitted, r.tape.first(r.submitted, line.isStep))...)
	l.Lock()
	defer l.Unlock()
	l.starts = append(l.starts, row([]string{r.name}, r.submitted, marks))
}

// fault notes how long each phase of the recovery took.
func (l *ledger) fault(r *run, f fault) {
	decided := r.tape.restarted()
	told := r.tape.told(r.broken)
	if told.IsZero() || told.After(decided) {
		told = decided // the operator alone sees that a program stalls; and of the same watch it may be the quicker reader
	}
	var step time.Time
	if steps := r.tape.find(r.isNewStep()); len(steps) > 0 {
		step = steps[0].at
	}
	marks := append([]time.Time{told, decided, r.lastStopped(), r.lastCreated()}, r.progress(r.broken, step)...)
	l.Lock()
	defer l.Unlock()
	l.faults = append(l.faults, row([]string{r.name, f.label, r.hit.String()}, r.broken, marks))
}

// attribution notes how often the right rank was named.
func (l *ledger) attribution(t *tally) {
	l.Lock()
	defer l.Unlock()
	l.attributions = append(l.attributions, t.row())
}

// progress returns when the last of the new pods ran, the last of their programs said something, the programs had met, a
// checkpoint was loaded, and the step was done. The zero time stands for what a program does not print.
func (r *run) progress(begin, step time.Time) []time.Time {
	begun := r.lastBegun()
	return []time.Time{r.lastRunning(), begun, r.tape.first(latest(begin, begun.Add(-time.Millisecond)), line.isMet), r.tape.first(begin, line.isLoad), step}
}

// row is one of a table in Markdown: names, the seconds of each phase, and those of all. A phase begins where the last known one
// ended, so that the phases add up; one that is not known, or that overlaps with those before it, is a dash.
func row(names []string, begin time.Time, marks []time.Time) string {
	cells, last := names, begin
	for _, mark := range marks {
		if mark.IsZero() || mark.Before(last) {
			cells = append(cells, "-")
			continue
		}
		cells = append(cells, seconds(last, mark))
		last = mark
	}
	return markdown(append(cells, seconds(begin, last)))
}

func seconds(from, to time.Time) string { return fmt.Sprintf("%.1f", to.Sub(from).Seconds()) }

func markdown(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

func heading(cells []string) string {
	return markdown(cells) + "\n|" + strings.Repeat("---|", len(cells))
}

// tables returns the figures, in seconds.
func (l *ledger) tables() string {
	l.Lock()
	defer l.Unlock()
	var out bytes.Buffer
	if len(l.starts) > 0 {
		fmt.Fprintf(&out, "\nFrom the submission, in seconds:\n\n%s\n%s\n", heading(append(append([]string{"example"}, startPhases...), "in all")), strings.Join(l.starts, "\n"))
	}
	if len(l.faults) > 0 {
		fmt.Fprintf(&out, "\nFrom the fault, in seconds:\n\n%s\n%s\n", heading(append(append([]string{"example", "fault", "of"}, recoveryPhases...), "in all")), strings.Join(l.faults, "\n"))
	}
	if len(l.attributions) > 0 {
		fmt.Fprintf(&out, "\nOf four ranks, times in seconds:\n\n%s\n%s\n",
			heading([]string{"example", "one ends by", "named first", "its log is there", "decided", "all run again"}), strings.Join(l.attributions, "\n"))
	}
	return out.String()
}

// verdicts returns which faults each example went through, and why specs were not run.
func verdicts(specs types.SpecReports) string {
	var out bytes.Buffer
	columns := []string{"plain"}
	for _, f := range faults {
		columns = append(columns, f.label)
	}
	columns = append(columns, ofServer+killed.label)
	fmt.Fprintf(&out, "\n%s\n", heading(append([]string{"example"}, columns...)))
	for _, e := range examplesHere {
		cells := []string{e.name}
		for _, column := range columns {
			cells = append(cells, verdict(specs, e.name, column))
		}
		fmt.Fprintln(&out, markdown(cells))
	}
	for _, spec := range specs {
		if spec.State == types.SpecStateSkipped && spec.Failure.Message != "" {
			fmt.Fprintf(&out, "NOT RUN  %s: %s\n", spec.FullText(), spec.Failure.Message)
		}
	}
	return out.String()
}

func verdict(specs types.SpecReports, name, label string) string {
	for _, spec := range specs {
		labels := spec.Labels()
		if len(labels) != 2 || labels[0] != name || labels[1] != label {
			continue
		}
		if spec.State == types.SpecStateSkipped || spec.State == types.SpecStatePending {
			return "not run"
		}
		return spec.State.String()
	}
	return "-"
}

// told returns when, after begin, the cluster first showed that something is wrong.
func (t *tape) told(begin time.Time) time.Time {
	t.Lock()
	defer t.Unlock()
	for _, at := range t.signs {
		if at.After(begin) {
			return at
		}
	}
	return time.Time{}
}

func (t *tape) restarted() time.Time {
	t.Lock()
	defer t.Unlock()
	if len(t.restarts) == 0 {
		return time.Time{}
	}
	return t.restarts[0]
}

// lastRunning returns when the last of the new pods ran.
func (r *run) lastRunning() time.Time {
	return r.last(func(p *podSeen) time.Time { return p.after(r.broken, p.running) })
}

func (r *run) lastCreated() time.Time {
	return r.last(func(p *podSeen) time.Time { return p.after(r.broken, p.created) })
}

// lastBegun returns when the last of the programs in new pods said its first words: its libraries are loaded.
func (r *run) lastBegun() time.Time {
	later, first := r.later(), map[string]time.Time{}
	for _, l := range r.tape.find(func(l line) bool { return l.value("attempt") >= 0 }) {
		if _, known := first[l.pod]; !known {
			first[l.pod] = l.at
		}
	}
	var last time.Time
	for _, name := range later {
		last = latest(last, first[name])
	}
	return last
}

// lastStopped returns when the last of the pods that the fault ended, or the restart after it, had ended. On a node that is
// lost that may be never; on one that is cut off, long after the next life has begun.
func (r *run) lastStopped() time.Time {
	created := r.lastCreated()
	return r.last(func(p *podSeen) time.Time {
		if p.created.After(r.broken) || p.ended.After(created) {
			return time.Time{}
		}
		return p.ended
	})
}

// after returns at if the pod was created after begin.
func (p *podSeen) after(begin, at time.Time) time.Time {
	if p.created.Before(begin) {
		return time.Time{}
	}
	return at
}

func (r *run) last(of func(*podSeen) time.Time) time.Time {
	r.tape.Lock()
	defer r.tape.Unlock()
	var last time.Time
	for _, p := range r.tape.pods {
		last = latest(last, of(p))
	}
	return last
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
