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
	// Ran is when all replicas ran; zero if that is not known.
	Ran time.Time
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
	if status.RunningTime != nil && spans[0].First == first && !status.RunningTime.After(spans[0].To) {
		spans[0].Ran = status.RunningTime.Time
	}
	if c := condition(v.Job, v1alpha1.ConditionRunning); c != nil && c.Status == "True" {
		spans[len(spans)-1].Ran = c.LastTransitionTime.Time
	}
	return spans
}

// Marks are the characters that bars are drawn with.
type Marks struct{ Starting, Running, Unknown, Incident string }

// The marks for terminals that show Unicode, and for everything else.
var (
	Blocks = Marks{Starting: "░", Running: "█", Unknown: "▓", Incident: "▲"}
	ASCII  = Marks{Starting: ".", Running: "#", Unknown: "=", Incident: "^"}
)

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
	c := &chart{from: spans[0].From, to: spans[len(spans)-1].To, columns: max(leastBar, width-24), marks: marks}
	for i := range spans {
		c.draw(b, &spans[i])
	}
	fmt.Fprintf(b, "%s starting %s running %s either %s incident\n", marks.Starting, marks.Running, marks.Unknown, marks.Incident)
	incidents(b, v, width)
	lost(b, v)
	return b.String()
}

func head(b *strings.Builder, v *View, spans []Span) {
	status := &v.Job.Status
	total := spans[len(spans)-1].To.Sub(spans[0].From)
	fmt.Fprintf(b, "%s: %s, %s, %s in %s", v.Name(), status.Phase, Count(status.Attempt-spans[0].First+1, "attempt"), Count(status.Restarts, "restart"), duration.HumanDuration(total))
	if ratio, ok := state.RunningTimeRatio(status, v.Now); ok {
		fmt.Fprintf(b, ", ran %.3f of the time", ratio)
	}
	b.WriteString("\n\n")
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

func (c *chart) draw(b *strings.Builder, s *Span) {
	name := fmt.Sprintf("attempt %d", s.First)
	if s.Last > s.First {
		name = fmt.Sprintf("%d to %d", s.First, s.Last)
	}
	from, to := c.column(s.From), c.column(s.To)
	to = max(to, min(from+1, c.columns))
	bar := strings.Repeat(" ", min(from, c.columns-1))
	if s.Ran.IsZero() {
		bar += strings.Repeat(c.marks.Unknown, max(1, to-from))
	} else {
		ran := min(max(c.column(s.Ran), from), to-1)
		bar += strings.Repeat(c.marks.Starting, max(0, ran-from)) + strings.Repeat(c.marks.Running, max(1, to-ran))
	}
	fmt.Fprintf(b, "%-12s%s%s %s\n", name, bar, strings.Repeat(" ", max(0, c.columns-to)), duration.HumanDuration(s.To.Sub(s.From)))
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
