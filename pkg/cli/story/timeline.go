package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Span is one attempt of the job, or several that the status no longer distinguishes.
type Span struct {
	First, Last int32
	From, To    time.Time
	// Ended is the incident that ended it; nil if none did.
	Ended *v1alpha1.Incident
	// Within are the incidents that restarted less than the job, oldest first.
	Within []v1alpha1.Incident
}

// Spans returns the attempts of the job, oldest first; none if it has not started.
func Spans(v *View) []Span {
	status := &v.Job.Status
	if status.StartTime == nil {
		return nil
	}
	end := v.Now
	if status.CompletionTime != nil {
		end = status.CompletionTime.Time
	}
	from := status.StartTime.Time
	var spans []Span
	var within []v1alpha1.Incident
	first, _ := state.FirstAttempt(v.Job) // what the operator could not read it did not begin
	next := first
	for _, i := range slices.Backward(status.Incidents) {
		if i.Scope != v1alpha1.ScopeJob {
			within = append(within, i)
			continue
		}
		spans = append(spans, Span{First: next, Last: i.Attempt, From: from, To: i.Time.Time, Ended: &i, Within: within})
		from, next, within = i.RestartTime.Time, i.Attempt+1, nil
	}
	spans = append(spans, Span{First: next, Last: status.Attempt, From: from, To: end, Within: within})
	return spans
}

// Marks are the characters that bars are drawn with: one for each state, in its order, and one for incidents.
type Marks struct {
	States   []string
	Incident string
}

// The marks for terminals that show Unicode, and for everything else.
var (
	Blocks = Marks{States: []string{"─", "░", "█", "▒", "×", "▓"}, Incident: "▲"}
	ASCII  = Marks{States: []string{"-", ".", "#", ":", "x", "="}, Incident: "^"}
)

// stateNames are the names of the states in the legend.
var stateNames = []string{"suspended", "starting", "running", "restarting", "lost", "unknown"}

// leastBar is the narrowest useful bar.
const leastBar = 10

// Timeline returns the job's story as text of at most width columns: a bar for each attempt, then each incident, then where the
// time went.
func Timeline(v *View, width int, marks Marks) string {
	spans := Spans(v)
	if len(spans) == 0 {
		return v.Name() + " has not started yet.\n"
	}
	b := &strings.Builder{}
	head(b, v, spans)
	parts := Parts(v)
	c := &chart{from: spans[0].From, to: spans[len(spans)-1].To, columns: max(leastBar, width-24), marks: marks}
	for i := range spans {
		until := c.to
		if i+1 < len(spans) {
			until = spans[i+1].From // the time that the failure cost is the attempt's
		}
		c.draw(b, &spans[i], Within(parts, Interval{spans[i].From, until}))
	}
	wrap(b, legend(parts, marks), width)
	incidents(b, v, width)
	lost(b, v)
	if caveat := Caveat(v.Job); caveat != "" {
		b.WriteString("\n")
		wrap(b, caveat, width)
	}
	return b.String()
}

// Caveat returns what the time of running includes besides training; empty for nothing. The pods of an elastic PyTorch job run on while its workers
// meet again, and only the program knows for how long.
func Caveat(job *v1alpha1.TrainingJob) string {
	if job.Spec.Elastic == nil || job.Spec.Framework != v1alpha1.PyTorch {
		return ""
	}
	return "Running includes the time in which the workers of this elastic job meet again after a restart or a change of their number."
}

func head(b *strings.Builder, v *View, spans []Span) {
	status := &v.Job.Status
	fmt.Fprintf(b, "%s: %s, %s, %s", v.Name(), status.Phase, Count(status.Attempt-spans[0].First+1, "attempt"), Count(status.Restarts, "restart"))
	if t, ok := TotalsOf(status, v.Now); ok {
		fmt.Fprintf(b, ", %s", t)
	}
	b.WriteString("\n\n")
}

// String returns the totals as a clause: "ran 70s, suspended 41s, lost 4s of 115s".
func (t Totals) String() string {
	text := "ran " + duration.HumanDuration(t.Ran)
	if t.Suspended > 0 {
		text += ", suspended " + duration.HumanDuration(t.Suspended)
	}
	if t.Lost > 0 {
		text += ", lost " + duration.HumanDuration(t.Lost)
	}
	return text + " of " + duration.HumanDuration(t.Ran+t.Suspended+t.Lost)
}

// legend names the marks of the states that are there.
func legend(parts []Part, marks Marks) string {
	text := ""
	for s, name := range stateNames {
		if slices.ContainsFunc(parts, func(p Part) bool { return int(p.State) == s }) {
			text += marks.States[s] + " " + name + " "
		}
	}
	return text + marks.Incident + " incident"
}

// chart draws spans on one scale of time.
type chart struct {
	from, to time.Time
	columns  int
	marks    Marks
}

// column returns where a time is.
func (c *chart) column(t time.Time) int {
	whole := c.to.Sub(c.from)
	if whole <= 0 {
		return 0
	}
	at := int(float64(t.Sub(c.from)) / float64(whole) * float64(c.columns))
	return min(max(at, 0), c.columns)
}

func (c *chart) draw(b *strings.Builder, s *Span, parts []Part) {
	name := fmt.Sprintf("attempt %d", s.First)
	if s.Last > s.First {
		name = fmt.Sprintf("%d to %d", s.First, s.Last)
	}
	row := slices.Repeat([]string{" "}, c.columns)
	for i, p := range parts {
		from, to := min(c.column(p.From), c.columns-1), c.column(p.To)
		if i == len(parts)-1 || i == 0 {
			to = max(to, from+1) // the shortest attempt is seen, and its end
		}
		for at := from; at < to; at++ {
			row[at] = c.marks.States[p.State]
		}
	}
	fmt.Fprintf(b, "%-12s%s %s\n", name, strings.Join(row, ""), duration.HumanDuration(s.To.Sub(s.From)))
	if len(s.Within) > 0 {
		c.drawIncidents(b, s)
	}
}

// drawIncidents marks, under an attempt, the incidents that did not end it.
func (c *chart) drawIncidents(b *strings.Builder, s *Span) {
	row := slices.Repeat([]string{" "}, c.columns)
	for i := range s.Within {
		row[min(c.column(s.Within[i].Time.Time), c.columns-1)] = c.marks.Incident
	}
	b.WriteString(strings.Repeat(" ", 12) + strings.TrimRight(strings.Join(row, ""), " ") + "\n")
}

// incidents writes each restart, oldest first.
func incidents(b *strings.Builder, v *View, width int) {
	if len(v.Job.Status.Incidents) == 0 {
		return
	}
	b.WriteString("\n")
	for _, i := range slices.Backward(v.Job.Status.Incidents) {
		text := fmt.Sprintf("%s %s: %s, %s", i.Time.UTC().Format(time.TimeOnly), WhatBroke(&i.Failure), Answer(&i), Charge(&i))
		wrap(b, state.Printable(text), width)
	}
	if more := int(v.Job.Status.Restarts) - len(v.Job.Status.Incidents); more > 0 {
		fmt.Fprintf(b, "and %s that the status does not keep\n", Count(more, "earlier restart"))
	}
}

// wrap writes a line broken between words to width columns, what does not fit on the first indented.
func wrap(b *strings.Builder, line string, width int) {
	const indent = "         "
	columns := 0
	for i, word := range strings.Fields(line) {
		switch {
		case i == 0:
		case columns+1+len(word) > width:
			b.WriteString("\n" + indent)
			columns = len(indent)
		default:
			b.WriteString(" ")
			columns++
		}
		b.WriteString(word)
		columns += len(word)
	}
	b.WriteString("\n")
}

// LostPart is time that was lost, and to what.
type LostPart struct {
	Seconds int64
	To      string
}

// LostParts returns what the time was lost to that the job did not train in.
func LostParts(l v1alpha1.LostSeconds) []LostPart {
	return []LostPart{
		{l.Queue, "in the queue"}, {l.Nodes, "waiting for nodes"}, {l.Starting, "starting"}, {l.Detection, "noticing failures"},
		{l.Restart, "restarting"}, {l.Redone, "redoing steps"},
	}
}

// lost writes the time in which the job did not train.
func lost(b *strings.Builder, v *View) {
	var parts []string
	for _, part := range LostParts(v.Job.Status.LostSeconds) {
		if part.Seconds > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", duration.HumanDuration(time.Duration(part.Seconds)*time.Second), part.To))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(b, "\nLost: %s.\n", strings.Join(parts, ", "))
	}
}

// Cut returns the beginning of a line that fits into width columns.
func Cut(line string, width int) string {
	runes := []rune(line)
	if width <= 0 || len(runes) <= width {
		return line
	}
	return string(runes[:max(width-1, 0)]) + "…"
}
