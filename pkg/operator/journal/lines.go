package journal

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/history"
)

// Lines returns the log's lines about a job's history, oldest first. Write them once the status is written.
func Lines(h *history.History) []Line {
	var lines []Line
	for i := range h.List {
		t := &h.List[i]
		switch t.Kind {
		case history.Explained:
			lines = append(lines, incident(h, t, MessageExplained))
		case history.Restarted:
			lines = append(lines, incident(h, t, MessageIncident))
		case history.Runs:
			lines = append(lines, runs(h, t))
		case history.Finished:
			lines = append(lines, finished(h, t))
		}
	}
	return lines
}

// line returns what all lines of a job have.
func line(h *history.History, t *history.Transition, message string) Line {
	job := h.Job
	l := Line{
		Message: message, Job: job.Name, Namespace: job.Namespace, UID: job.UID, Framework: job.Spec.Framework,
		Replicas: map[v1alpha1.Role]int32{}, StartTime: h.Is.StartTime, Attempt: t.Attempt,
	}
	for _, role := range job.Spec.Roles() {
		l.Replicas[role] = job.Spec.Replicas(role)
	}
	return l
}

func incident(h *history.History, t *history.Transition, message string) Line {
	l := line(h, t, message)
	l.Number, l.Incident = t.Number, t.Incident
	l.DetectionSeconds = int64(max(0, t.Incident.RestartTime.Sub(t.Incident.Time.Time)).Seconds())
	return l
}

// runs reports an attempt that runs, and what the restart before it cost.
func runs(h *history.History, t *history.Transition) Line {
	l := line(h, t, MessageRuns)
	l.RunningTime, l.Number = &t.End, t.Number
	if t.Incident != nil {
		l.CostSeconds = int64(max(0, t.End.Sub(t.Incident.Time.Time)).Seconds())
	}
	return l
}

// finished reports how the job ended, without the facts of earlier lines and without the operator's memory.
func finished(h *history.History, t *history.Transition) Line {
	l := line(h, t, MessageFinished)
	l.Status = h.Is.DeepCopy()
	l.Status.Memory, l.Status.Incidents = v1alpha1.Memory{}, nil
	return l
}

// The messages of the lines.
const (
	MessageIncident  = "incident"
	MessageExplained = "incident explained"
	MessageRuns      = "all replicas run"
	MessageFinished  = "job finished"
)

// Line is one line of the log about a job.
type Line struct {
	// Message identifies the kind of line.
	Message string

	// Job, Namespace and UID name the job; Framework, Replicas by role and StartTime say what it is. All lines have them.
	Job       string
	Namespace string
	UID       types.UID
	Framework v1alpha1.Framework
	Replicas  map[v1alpha1.Role]int32
	StartTime *metav1.Time
	// Attempt is the attempt that broke, runs now, or was the last.
	Attempt int32

	// Number of the incident among all of the job, from 1; for MessageRuns the number of the whole-job restart that began this attempt.
	Number int32
	// Incident is the restart.
	Incident *v1alpha1.Incident
	// DetectionSeconds is the time from the failure to the decision to restart.
	DetectionSeconds int64

	// RunningTime is since when all replicas run.
	RunningTime *metav1.Time
	// CostSeconds is the time from the failure until all replicas ran again.
	CostSeconds int64

	// Status is the job's last.
	Status *v1alpha1.TrainingJobStatus
}

// Fields returns the line's fields, names and values in turn, except the time and the message.
func (l *Line) Fields() []any {
	fields := []any{
		"job", l.Job, "namespace", l.Namespace, "uid", string(l.UID), "framework", string(l.Framework),
		"replicas", value{l.Replicas}, "attempt", l.Attempt,
	}
	if l.StartTime != nil {
		fields = append(fields, "startTime", value{l.StartTime})
	}
	if l.Number > 0 {
		fields = append(fields, "number", l.Number)
	}
	if l.Incident != nil {
		fields = append(fields, "incident", value{l.Incident}, "detectionSeconds", l.DetectionSeconds)
	}
	if l.RunningTime != nil {
		fields = append(fields, "runningTime", value{l.RunningTime}, "costSeconds", l.CostSeconds)
	}
	if l.Status != nil {
		fields = append(fields, "status", value{l.Status})
	}
	return fields
}

// value is logged as JSON, in a log of text too.
type value struct{ of any }

// MarshalJSON implements the interface for a log of JSON.
func (v value) MarshalJSON() ([]byte, error) { return json.Marshal(v.of) }

// MarshalText implements the interface for a log of text.
func (v value) MarshalText() ([]byte, error) { return json.Marshal(v.of) }
