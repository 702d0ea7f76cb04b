package report

import (
	"html/template"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
)

// listRow is one job of the list.
type listRow struct {
	Name, Namespace, Phase, Ready, Age, Why string
	Attempt, Restarts                       int32
	Address                                 template.URL
	Paths                                   []path
	Marks                                   []mark
}

// List writes the page of all jobs; address returns the address of the page of each.
func List(w io.Writer, jobs []v1alpha1.TrainingJob, now time.Time, address func(*v1alpha1.TrainingJob) string, live *Live) error {
	list := struct {
		Live   *Live
		Made   time.Time
		Rows   []listRow
		Legend []State
	}{Live: live, Made: now}
	var drawn []path
	for i := range jobs {
		row := rowOf(&jobs[i], now)
		row.Address = template.URL(address(&jobs[i]))
		list.Rows, drawn = append(list.Rows, row), append(drawn, row.Paths...)
	}
	list.Legend = statesOf(drawn)
	return pages.ExecuteTemplate(w, "list.tmpl", &list)
}

func rowOf(job *v1alpha1.TrainingJob, now time.Time) listRow {
	s := &job.Status
	row := listRow{
		Name: job.Name, Namespace: job.Namespace, Phase: string(s.Phase), Ready: s.Ready, Attempt: s.Attempt, Restarts: s.Restarts,
		Age: duration.HumanDuration(now.Sub(job.CreationTimestamp.Time)), Why: s.Message,
	}
	if s.StartTime == nil {
		return row
	}
	v := &story.View{Job: job, Now: now}
	r := Report{Phase: s.Phase, Start: &s.StartTime.Time, End: now, Incidents: incidents(s, nil)}
	if s.CompletionTime != nil {
		r.End = s.CompletionTime.Time
	}
	_, r.parts = attempts(v, r.Incidents, nil)
	c := &chart{from: *r.Start, to: r.End}
	if !c.to.After(c.from) {
		c.to = c.from.Add(time.Second)
	}
	row.Paths = c.paths([][]Segment{ofParts(r.parts, Failed)}, 12, 0)
	for i := range r.Incidents {
		row.Marks = append(row.Marks, c.markOf(&r.Incidents[i], 0))
	}
	return row
}
