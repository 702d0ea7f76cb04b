package report

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/journal"
)

// Report is the story of one job.
type Report struct {
	Job       string             `json:"job"`
	Namespace string             `json:"namespace"`
	UID       types.UID          `json:"uid"`
	Framework v1alpha1.Framework `json:"framework"`
	// Phase, Reason and Message are the status's; Summary is a sentence of them.
	Phase   v1alpha1.Phase `json:"phase,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message,omitempty"`
	Summary string         `json:"summary"`
	// Made is when the report was made, Sources from what.
	Made    time.Time `json:"made"`
	Sources []string  `json:"sources"`
	// Start and End bound the story; Start is nil if the job has not started, and a job that goes on ends when the report was made.
	Start *time.Time `json:"start,omitempty"`
	End   time.Time  `json:"end"`
	// RunningTimeRatio is the time that the job ran over the time from Start to End, suspensions left out; nil if that is not known.
	RunningTimeRatio *float64 `json:"runningTimeRatio,omitempty"`
	// Caveat is what the time of running includes besides training; empty for nothing.
	Caveat string `json:"caveat,omitempty"`

	Attempts []Attempt `json:"attempts"`
	// Incidents are the restarts, newest first; Untold is the number of other restarts, which no source describes.
	Incidents []Incident `json:"incidents"`
	Untold    int32      `json:"untold,omitempty"`
	// Replicas say how each replica was, in the order of ranks; those that were alike are one entry.
	Replicas []Replicas `json:"replicas"`
	// Suspensions are the times in which the job was suspended, as far as that is known.
	Suspensions  []Interval                 `json:"suspensions,omitempty"`
	Lost         v1alpha1.LostSeconds       `json:"lostSeconds"`
	AvoidedNodes []v1alpha1.AvoidedNode     `json:"avoidedNodes,omitempty"`
	Conditions   []metav1.Condition         `json:"conditions,omitempty"`
	Events       []Event                    `json:"events,omitempty"`
	Status       v1alpha1.TrainingJobStatus `json:"status"`

	// parts is how the job was, totals where its time went.
	parts  []story.Part
	totals story.Totals
}

// Interval is from one time to another.
type Interval = story.Interval

// Attempt is one attempt, or several that no source distinguishes.
type Attempt struct {
	First int32 `json:"first"`
	Last  int32 `json:"last"`
	Interval
	// Ran is when all replicas ran; nil if that is not known, or none did.
	Ran *time.Time `json:"ran,omitempty"`
	// EndedBy is the number of the incident that ended it; 0 if none did.
	EndedBy int32 `json:"endedBy,omitempty"`
}

// Incident is one restart and what it cost.
type Incident struct {
	// Number among all of the job, from 1.
	Number int32 `json:"number"`
	v1alpha1.Incident
	// DetectionSeconds is the time from the failure to the decision.
	DetectionSeconds int64 `json:"detectionSeconds"`
	// CostSeconds is the time from the failure until what was restarted ran again; nil if that is not known.
	CostSeconds *int64 `json:"costSeconds,omitempty"`
}

// Event is one Event about the job.
type Event struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int32     `json:"count,omitempty"`
}

// Make returns the report of the job of the view, completed by the lines of the operator's log if it is a local run.
func Make(v *story.View, lines []journal.Line) Report {
	job, status := v.Job, &v.Job.Status
	r := Report{
		Job: job.Name, Namespace: job.Namespace, UID: job.UID, Framework: job.Spec.Framework,
		Phase: status.Phase, Reason: status.Reason, Message: status.Message, Made: v.Now, End: v.Now,
		Lost: status.LostSeconds, AvoidedNodes: status.AvoidedNodes, Conditions: status.Conditions,
		Summary: summary(v), Caveat: story.Caveat(v.Job), Status: *status.DeepCopy(), Events: eventsOf(v), Suspensions: story.Suspensions(v),
	}
	r.Status.Memory, r.Status.Incidents, r.Status.Conditions = v1alpha1.Memory{}, nil, nil
	if status.CompletionTime != nil {
		r.End = status.CompletionTime.Time
	}
	if status.StartTime == nil {
		return r
	}
	r.Start = &status.StartTime.Time
	if ratio, isKnown := state.RunningTimeRatio(status, r.End); isKnown { // of the whole status: a condition shows the present run
		r.RunningTimeRatio = &ratio
	}
	r.Incidents = incidents(status, lines)
	for i := range r.Incidents {
		if line, f := v.Line(&r.Incidents[i].Failure), &r.Incidents[i].Failure; line != failure.Line(f) {
			f.Message = line + "\n" + f.Message
		}
	}
	if n := status.Restarts - int32(len(r.Incidents)); n > 0 {
		r.Untold = n
	}
	r.totals, _ = story.TotalsOf(status, r.End)
	r.Attempts, r.parts = attempts(v, r.Incidents, lines)
	addCosts(r.Incidents, r.Attempts, v)
	r.Replicas = replicas(v, &r)
	return r
}

// summary returns the state of the job in a sentence.
func summary(v *story.View) string {
	if e, err := story.Why(v); err == nil {
		return e.Sentence
	}
	return v.Job.Status.Message
}

// eventsOf returns the Events, newest first.
func eventsOf(v *story.View) []Event {
	var list []Event
	both := &story.View{Events: slices.Concat(v.Events, v.PodEvents)}
	for _, e := range both.EventsByTime() {
		list = append(list, Event{story.Seen(&e), e.Type, e.Reason, e.Message, story.CountOf(&e)})
	}
	return list
}
