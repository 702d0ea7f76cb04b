package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
)

// wide is the width of pictures, in units of their own: they stretch with the page.
const wide = 1000

// chart is the pictures of a job, all on one scale of time.
type chart struct {
	from, to time.Time
	Ticks    []tick
	Attempts []attemptRow
	Earlier  int
	Rows     []replicaRow
	Paths    []path
	Height   int
	// Shared is whether rows stand for several replicas, Dense whether their labels are small.
	Shared, Dense bool
	Marks         []mark
}

// tick is a time on the axis, at so many percent of its length.
type tick struct {
	At   float64
	Text string
}

type attemptRow struct {
	Name, Length string
	Paths        []path
	Marks        []mark
}

// mark is an incident.
type mark struct {
	// At and Top are where it is, in percent of the picture.
	At, Top float64
	Number  int32
	// Replica is the one where it began, or "the whole job".
	Replica string
}

// path is all that has one state in a picture.
type path struct {
	State State
	D     template.HTMLAttr
}

// mostMarks is how many incidents a picture marks.
const mostMarks = 200

// replicaRow is the label of a row; most rows have none.
type replicaRow struct {
	// Name is the first replica, To the clause for the others: " to 63".
	Name, To string
	// At is where it begins and Tall how high it is, in percent of the picture.
	At, Tall float64
}

func newChart(r *Report) *chart {
	c := &chart{from: *r.Start, to: r.End}
	if !c.to.After(c.from) {
		c.to = c.from.Add(time.Second)
	}
	c.Ticks = c.ticks()
	c.drawAttempts(r)
	c.drawReplicas(r)
	return c
}

// x returns where a time is, in units of the picture.
func (c *chart) x(t time.Time) float64 {
	at := wide * float64(t.Sub(c.from)) / float64(c.to.Sub(c.from))
	return min(max(at, 0), wide)
}

func (c *chart) percent(t time.Time) float64 { return round(c.x(t) / wide * 100) }

// steps are the distances between ticks that people can count with.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour,
}

// mostTicks is the maximum number of ticks of an axis, except for jobs of many weeks.
const mostTicks = 7

func (c *chart) ticks() []tick {
	whole := c.to.Sub(c.from)
	step := steps[len(steps)-1]
	for whole/step >= mostTicks*2 {
		step *= 2
	}
	for _, s := range steps {
		if whole/s < mostTicks {
			step = s
			break
		}
	}
	var list []tick
	for at := time.Duration(0); at <= whole; at += step {
		text := "0"
		if at > 0 {
			text = duration.HumanDuration(at)
		}
		list = append(list, tick{c.percent(c.from.Add(at)), text})
	}
	return list
}

// drawAttempts draws a bar for each attempt, the latest if there are many.
func (c *chart) drawAttempts(r *Report) {
	c.Earlier = max(0, len(r.Attempts)-mostAttempts)
	for i := range r.Attempts[c.Earlier:] {
		a := &r.Attempts[c.Earlier+i]
		row := attemptRow{Name: fmt.Sprintf("attempt %d", a.First), Length: duration.HumanDuration(a.To.Sub(a.From))}
		if a.Last > a.First {
			row.Name = fmt.Sprintf("%d to %d", a.First, a.Last)
		}
		whole := Interval{From: a.From, To: r.End}
		if next := c.Earlier + i + 1; next < len(r.Attempts) {
			whole.To = r.Attempts[next].From // the time that the failure cost is the attempt's
		}
		row.Paths = c.paths([][]Segment{ofParts(story.Within(r.parts, whole), Failed)}, 12, 0)
		for n := range r.Incidents {
			t := r.Incidents[n].Time.Time
			isOfBefore := i > 0 && !t.After(a.From) // an attempt begins with the incident that ended the one before it
			if !isOfBefore && !t.Before(a.From) && !t.After(a.To) && len(row.Marks) < mostIncidents {
				row.Marks = append(row.Marks, c.markOf(&r.Incidents[n], 0))
			}
		}
		c.Attempts = append(c.Attempts, row)
	}
}

// drawReplicas draws a row for each replica, or for several.
func (c *chart) drawReplicas(r *Report) {
	picture := rows(each(r.Replicas))
	if len(picture) == 0 {
		return
	}
	tall, gap := 16, 3
	if len(picture) > mostRows/2 {
		tall, gap, c.Dense = 11, 0, true
	}
	c.Height = len(picture)*(tall+gap) - gap
	var segments [][]Segment
	every := max(1, len(picture)/10)
	for i := range picture {
		segments = append(segments, picture[i].Segments)
		c.Shared = c.Shared || picture[i].Last > picture[i].First
		row := replicaRow{At: round(100 * float64(i*(tall+gap)) / float64(c.Height)), Tall: round(100 * float64(tall) / float64(c.Height))}
		isFirst := i == 0 || picture[i].Role != picture[i-1].Role
		if isMarked := c.mark(r, &picture[i], row.At+row.Tall/2); len(picture) <= mostRows/2 || isFirst || i%every == 0 || isMarked {
			row.Name = state.Slot{Role: picture[i].Role, Index: picture[i].First}.String()
			row.To = strings.TrimPrefix(picture[i].Name(), row.Name)
			c.Rows = append(c.Rows, row)
		}
	}
	c.Paths = c.paths(segments, tall, gap)
}

// mark marks the incidents of a row's replicas, and reports whether there are any.
func (c *chart) mark(r *Report, row *Replicas, top float64) bool {
	before := len(c.Marks)
	for i := range r.Incidents[:min(len(r.Incidents), mostMarks)] {
		f := &r.Incidents[i]
		if began(f) != "" && f.Role == row.Role && row.First <= int(f.Index) && int(f.Index) <= row.Last {
			c.Marks = append(c.Marks, c.markOf(f, top))
		}
	}
	return len(c.Marks) > before
}

// markOf returns the mark of an incident at that height.
func (c *chart) markOf(i *Incident, top float64) mark {
	return mark{c.percent(i.Time.Time), round(top), i.Number, cmp.Or(began(i), "the whole job")}
}

// each returns the replicas one by one, unless there are so many that rows are shared anyway.
func each(list []Replicas) []Replicas {
	total := 0
	for i := range list {
		total += list[i].Last - list[i].First + 1
	}
	if total > mostAlone {
		return list
	}
	var one []Replicas
	for i := range list {
		for n := list[i].First; n <= list[i].Last; n++ {
			one = append(one, Replicas{Role: list[i].Role, First: n, Last: n, Rank: list[i].Rank + n - list[i].First, Segments: list[i].Segments})
		}
	}
	return one
}

// thin is the least width of a segment: what lasted a second of a week is seen, too.
const thin = 1.5

// paths returns rows of segments as one path for each state, the least good on top.
func (c *chart) paths(rows [][]Segment, tall, gap int) []path {
	drawn := map[State]*strings.Builder{}
	for i, row := range rows {
		for _, s := range row {
			from := c.x(s.From)
			width := max(c.x(s.To)-from, thin)
			from = min(from, wide-width)
			if drawn[s.State] == nil {
				drawn[s.State] = &strings.Builder{}
			}
			fmt.Fprintf(drawn[s.State], "M%s %dh%sv%dH%sz", short(from), i*(tall+gap), short(width), tall, short(from))
		}
	}
	var list []path
	for i := len(States) - 1; i >= 0; i-- {
		if d := drawn[States[i]]; d != nil {
			list = append(list, path{States[i], template.HTMLAttr(`d="` + d.String() + `"`)})
		}
	}
	return list
}

// short returns a number with one decimal, or none.
func short(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// statesOf returns the states that are drawn, the best first.
func statesOf(drawn []path) []State {
	var list []State
	for _, state := range slices.Backward(States) {
		if slices.ContainsFunc(drawn, func(p path) bool { return p.State == state }) {
			list = append(list, state)
		}
	}
	return list
}
