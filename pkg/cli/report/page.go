package report

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
)

//go:embed pages
var files embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"clock": clock, "since": since, "cut": story.Cut, "words": words,
	"style": func() (template.CSS, error) {
		text, err := files.ReadFile("pages/style.css")
		return template.CSS(text), err
	},
}).ParseFS(files, "pages/*.tmpl"))

const (
	// mostIncidents, mostEvents and mostAttempts are the maximum numbers on a page; the JSON has all.
	mostIncidents = 60
	mostEvents    = 40
	mostAttempts  = 24
)

// Live is what a served page needs: the address for notices of changes, and the identification of its script.
type Live struct {
	// Events is the address of the stream of changes, Nonce what the script carries, Back the address of the list.
	Events, Nonce, Back string
}

// HTML writes the report as one page; live is nil for a file.
func (r *Report) HTML(w io.Writer, live *Live) error {
	return pages.ExecuteTemplate(w, "report.tmpl", r.page(live))
}

// page is what the template shows.
type page struct {
	*Report
	Live     *Live
	Tiles    []tile
	Chart    *chart
	Legend   []State
	Shown    []told
	More     int
	LostBars []lostBar
	Recent   []Event
	JSON     string
}

type tile struct{ Name, Value, Note string }

// told is an incident in words.
type told struct {
	Number                     int32
	Time                       time.Time
	What, Said, Answer, Charge string
	Detection, Cost            string
}

type lostBar struct {
	Name    string
	Length  string
	Percent float64
}

func (r *Report) page(live *Live) *page {
	p := &page{Report: r, Live: live, Tiles: r.tiles(), LostBars: lostBars(r.Lost), Recent: r.Events[:min(len(r.Events), mostEvents)]}
	if r.Start != nil {
		p.Chart = newChart(r)
		drawn := p.Chart.Paths
		for i := range p.Chart.Attempts {
			drawn = append(drawn, p.Chart.Attempts[i].Paths...)
		}
		p.Legend = statesOf(drawn)
	}
	p.Shown = r.told()
	p.More = len(r.Incidents) - len(p.Shown) + int(r.Untold)
	text, err := json.MarshalIndent(r.Status, "", "  ")
	if err == nil {
		p.JSON = string(text)
	}
	return p
}

func (r *Report) tiles() []tile {
	s := &r.Status
	list := []tile{{"Attempts", fmt.Sprint(s.Attempt + 1), ""}, {"Restarts", fmt.Sprint(s.Restarts), fmt.Sprintf("%d charged", s.ChargedRestarts)}}
	if r.Start != nil {
		list = append(list, tile{"Duration", duration.HumanDuration(r.End.Sub(*r.Start)), "since " + clock(*r.Start)})
	}
	if r.RunningTimeRatio != nil {
		list = append(list, tile{"Ran", duration.HumanDuration(r.totals.Ran), fmt.Sprintf("%.1f %% of the time without suspensions", 100**r.RunningTimeRatio)})
	}
	for _, part := range []tile{{"Suspended", duration.HumanDuration(r.totals.Suspended), ""}, {"Lost", duration.HumanDuration(r.totals.Lost), "did not train"}} {
		if part.Value != duration.HumanDuration(0) {
			list = append(list, part)
		}
	}
	if s.Ready != "" && s.Ready != "-" {
		list = append(list, tile{"Ready", s.Ready, "replicas"})
	}
	if s.Progress != nil {
		list = append(list, tile{"Step", fmt.Sprint(s.Progress.Step), story.Cut(s.Progress.Checkpoint, 40)})
		for _, name := range slices.Sorted(maps.Keys(s.Progress.Metrics)) {
			list = append(list, tile{story.Cut(name, 20), s.Progress.Metrics[name], ""})
		}
	}
	return list
}

// told returns the newest incidents in words.
func (r *Report) told() []told {
	var list []told
	for n := range r.Incidents[:min(len(r.Incidents), mostIncidents)] {
		i := &r.Incidents[n]
		t := told{
			Number: i.Number, Time: i.Time.Time, What: story.WhatBroke(&i.Failure), Said: story.Message(&i.Failure),
			Answer: story.Answer(&i.Incident), Charge: story.Charge(&i.Incident),
			Detection: duration.HumanDuration(time.Duration(i.DetectionSeconds) * time.Second),
		}
		if i.CostSeconds != nil {
			t.Cost = fmt.Sprintf("%d s", *i.CostSeconds)
		}
		if i.Followers > 0 {
			t.Answer += ", " + story.Count(i.Followers, "more replica") + " with it"
		}
		list = append(list, t)
	}
	return list
}

// lostBars returns where time was lost, on the scale of the most.
func lostBars(l v1alpha1.LostSeconds) []lostBar {
	var most int64 = 1
	for _, part := range story.LostParts(l) {
		most = max(most, part.Seconds)
	}
	var list []lostBar
	for _, part := range story.LostParts(l) {
		if part.Seconds > 0 {
			list = append(list, lostBar{part.To, duration.HumanDuration(time.Duration(part.Seconds) * time.Second), round(100 * float64(part.Seconds) / float64(most))})
		}
	}
	return list
}

// round returns a number that is short in a page.
func round(x float64) float64 { return math.Round(x*100) / 100 }

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// since returns how long after another a time was.
func since(from *time.Time, t time.Time) string {
	if from == nil {
		return clock(t)
	}
	return "+" + duration.HumanDuration(max(0, t.Sub(*from)))
}

var stateWords = map[State]string{
	Failed: "broken", Restarting: "restarting", Waiting: "waiting for a node", Suspended: "suspended", Starting: "starting",
	Unknown: "not known", Running: "running", Succeeded: "succeeded",
}

// words returns what the legend calls a state.
func words(s State) string { return stateWords[s] }
