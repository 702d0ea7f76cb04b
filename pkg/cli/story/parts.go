package story

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Interval is from one time to another.
type Interval struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// PartState is how the job was as a whole.
type PartState int

// The states: suspended by a user or a queue; starting for the first time or after a suspension; all replicas running; restarting, from the
// decision until all run again; lost, from a failure until the decision; unknown where the sources do not show which.
const (
	Suspended PartState = iota
	Starting
	Running
	Restarting
	Lost
	Unknown
)

// Part is a while in which the job was in one state.
type Part struct {
	State PartState
	Interval
}

// Parts returns how the job was from its first start to its end or now, without gaps: the one list from which timeline, report and ui are
// drawn. runs are further times at which all replicas began to run, beside those that the view shows.
func Parts(v *View, runs ...time.Time) []Part {
	h := newHistory(v, runs)
	if len(h.spans) == 0 {
		return nil
	}
	parts := h.parts()
	ran := time.Duration(0)
	for _, p := range parts {
		if p.State == Running {
			ran += p.To.Sub(p.From)
		}
	}
	t, _ := TotalsOf(&v.Job.Status, v.Now)
	if ran <= t.Ran+(t.Ran+t.Suspended+t.Lost)/20+10*time.Second { // Events have whole seconds, and a replica may be away for a moment
		return parts
	}
	if h.known = state.TrueSince(&v.Job.Status, v1alpha1.ConditionRunning); h.known.IsZero() {
		h.known = h.spans[len(h.spans)-1].To
	}
	return h.parts()
}

// parts returns the states between all times at which one may have changed.
func (h *history) parts() []Part {
	from, to := h.spans[0].From, h.spans[len(h.spans)-1].To
	if !to.After(from) {
		return []Part{{h.at(from), Interval{from, from}}}
	}
	cuts := append([]time.Time{from, to, h.failed, h.known}, h.runs...)
	for _, a := range h.away {
		cuts = append(cuts, a.From, a.To)
	}
	for i := range h.spans {
		cuts = append(cuts, h.spans[i].From, h.spans[i].To)
		for n := range h.spans[i].Within {
			cuts = append(cuts, h.spans[i].Within[n].Time.Time, h.spans[i].Within[n].RestartTime.Time)
		}
	}
	cuts = slices.DeleteFunc(cuts, func(t time.Time) bool { return t.Before(from) || t.After(to) })
	slices.SortFunc(cuts, time.Time.Compare)
	var parts []Part
	for i, at := range cuts[:len(cuts)-1] {
		next := Part{h.at(at), Interval{at, cuts[i+1]}}
		n := len(parts) - 1
		switch {
		case !next.To.After(next.From):
		case n >= 0 && parts[n].State == next.State:
			parts[n].To = next.To
		default:
			parts = append(parts, next)
		}
	}
	return parts
}

// Within returns the parts in an interval. An interval of no length has the part at its time.
func Within(parts []Part, in Interval) []Part {
	var list []Part
	for _, p := range parts {
		p.From, p.To = state.Latest(p.From, in.From), state.Earliest(p.To, in.To)
		if p.To.After(p.From) || len(list) == 0 && p.To.Equal(in.From) && p.To.Equal(in.To) {
			list = append(list, p)
		}
	}
	return list
}

// history is what is known of when the job changed.
type history struct {
	job   *v1alpha1.TrainingJob
	spans []Span
	// runs are the times at which all replicas began to run, away the suspensions, both oldest first.
	runs []time.Time
	away []Interval
	// failed is the failure with which the job ended; zero if it did not.
	failed time.Time
	// known is from when on all breaks of runs are known, if the operator counted less than shows: Events are gone after an hour.
	known time.Time
}

func newHistory(v *View, runs []time.Time) *history {
	status := &v.Job.Status
	h := &history{job: v.Job, spans: Spans(v), runs: append(Runs(v), runs...), away: Suspensions(v)}
	if status.RunningTime != nil {
		h.runs = append(h.runs, status.RunningTime.Time)
	}
	if since := state.TrueSince(status, v1alpha1.ConditionRunning); !since.IsZero() {
		h.runs = append(h.runs, since)
	}
	slices.SortFunc(h.runs, time.Time.Compare)
	h.failed = FailedAt(status)
	return h
}

// FailedAt returns the failure with which the job ended, at least a second before its end, because the status has whole seconds; zero if it did not fail.
func FailedAt(status *v1alpha1.TrainingJobStatus) time.Time {
	if status.LastFailure == nil || status.Phase != v1alpha1.PhaseFailed || status.CompletionTime == nil {
		return time.Time{}
	}
	return state.Earliest(status.LastFailure.Time.Time, status.CompletionTime.Add(-time.Second))
}

// at returns the state from a time until the next one at which something changed.
func (h *history) at(t time.Time) PartState {
	begin, from := Restarting, time.Time{}
	var span *Span
	for i := range h.spans {
		if s := &h.spans[i]; !t.Before(s.From) {
			if span, from, begin = s, s.From, Restarting; i == 0 {
				begin = Starting
			}
		}
	}
	for _, a := range h.away {
		if !t.Before(a.From) && t.Before(a.To) {
			return Suspended
		}
		if !t.Before(a.To) && !a.To.Before(from) {
			from, begin = a.To, Starting
		}
	}
	switch {
	case span.Ended != nil && !t.Before(span.To), !h.failed.IsZero() && !t.Before(h.failed):
		return Lost
	}
	if is := h.within(span, from, begin, t); is != Running || !t.Before(h.known) {
		return is
	}
	return Unknown
}

// within returns the state at a time in an attempt whose present stretch began at from, after a start or a suspension.
func (h *history) within(span *Span, from time.Time, begin PartState, t time.Time) PartState {
	ran := h.firstRun(from, span.To)
	if is, isBroken := h.broken(span, from, t); isBroken {
		return is
	}
	isLast := span == &h.spans[len(h.spans)-1]
	switch {
	case !ran.IsZero() && t.Before(ran):
		return begin
	case ran.IsZero() && isLast && h.job.Status.Phase == v1alpha1.PhaseRestarting:
		return Restarting
	case ran.IsZero() && isLast && slices.Contains(notYet, h.job.Status.Phase):
		return begin
	case ran.IsZero(), span.Last > span.First:
		return Unknown
	default:
		return Running
	}
}

// broken returns the state at a time at which an incident of less than the job kept replicas from running; ok is false at other times.
func (h *history) broken(span *Span, from, t time.Time) (is PartState, ok bool) {
	for i := range span.Within {
		broke := &span.Within[i]
		if t.Before(broke.Time.Time) || broke.Time.Time.Before(from) {
			continue
		}
		again := h.firstRun(broke.RestartTime.Time, span.To)
		switch {
		case again.IsZero(): // the others ran on
		case t.Before(broke.RestartTime.Time):
			return Lost, true
		case t.Before(again):
			return Restarting, true
		}
	}
	return Unknown, false
}

// notYet are the phases of a job whose replicas do not run yet.
var notYet = []v1alpha1.Phase{v1alpha1.PhaseCreated, v1alpha1.PhasePending}

// firstRun returns when all replicas first ran in a stretch; zero if that is not known.
func (h *history) firstRun(from, to time.Time) time.Time {
	for _, t := range h.runs {
		if !t.Before(from) && !t.After(to) {
			return t
		}
	}
	return time.Time{}
}

// Runs returns the times at which all replicas began to run, by Events, oldest first.
func Runs(v *View) []time.Time {
	var times []time.Time
	for i := range v.Events {
		e := &v.Events[i]
		if e.Reason == v1alpha1.ConditionRunning && CountOf(e) == 1 { // of several in one Event only the first and the last have a time
			times = append(times, Seen(e))
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// Suspensions returns when the job was suspended, by its condition and its Events, oldest first.
func Suspensions(v *View) []Interval {
	var list []Interval
	var since time.Time
	events := v.EventsByTime()
	slices.Reverse(events)
	for i := range events {
		switch at := Seen(&events[i]); events[i].Reason {
		case v1alpha1.ConditionSuspended:
			since = at
		case v1alpha1.EventResumed:
			if !since.IsZero() {
				list = append(list, Interval{since, at})
			}
			since = time.Time{}
		}
	}
	if since := state.TrueSince(&v.Job.Status, v1alpha1.ConditionSuspended); !since.IsZero() {
		list = append(list, Interval{since, v.Now})
	}
	return list
}

// CountOf returns how often the Event was emitted.
func CountOf(e *corev1.Event) int32 {
	if e.Series != nil {
		return e.Series.Count
	}
	return max(1, e.Count)
}

// Totals is where the time since the first start went, by the operator's own counters, which also know what no Event shows any more. The three add
// up to the duration.
type Totals struct{ Ran, Suspended, Lost time.Duration }

// TotalsOf returns the totals until the end of the job or now; ok is false for a job that has not started.
func TotalsOf(status *v1alpha1.TrainingJobStatus, now time.Time) (t Totals, ok bool) {
	if status.StartTime == nil {
		return t, false
	}
	until := now.Truncate(time.Second)
	if status.CompletionTime != nil {
		until = status.CompletionTime.Time
	}
	total := max(0, until.Sub(status.StartTime.Time))
	t.Suspended = min(total, state.SuspendedFor(status, until))
	t.Ran = min(total-t.Suspended, state.RunningFor(status, until))
	t.Lost = total - t.Suspended - t.Ran
	return t, true
}
