package journal

import (
	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/history"
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
