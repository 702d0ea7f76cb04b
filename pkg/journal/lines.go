package journal

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
)

// Lines returns what to tell of a job once the plan's status, which is made from the job's, is written: oldest first.
func Lines(job *v1alpha1.TrainingJob, p *plan.Plan) []Line {
	var lines []Line
	lines = append(lines, explained(job, p)...)
	for i := range p.Restarts {
		lines = append(lines, incidentLine(job, MessageIncident, job.Status.Restarts+int32(i)+1, &p.Restarts[i].Incident))
	}
	if is := running(&p.Status); is && !running(&job.Status) {
		lines = append(lines, runs(job, &p.Status))
	}
	if job.Status.CompletionTime == nil && p.Status.CompletionTime != nil {
		lines = append(lines, finished(job, &p.Status))
	}
	for i := range lines {
		lines[i].StartTime = p.Status.StartTime
	}
	return lines
}

// line returns what all lines of a job have.
func line(job *v1alpha1.TrainingJob, message string) Line {
	l := Line{
		Message: message, Job: job.Name, Namespace: job.Namespace, UID: job.UID, Framework: job.Spec.Framework,
		Replicas: map[v1alpha1.Role]int32{},
	}
	for _, role := range job.Spec.Roles() {
		l.Replicas[role] = job.Spec.Replicas(role)
	}
	return l
}

func incidentLine(job *v1alpha1.TrainingJob, message string, number int32, i *v1alpha1.Incident) Line {
	l := line(job, message)
	l.Attempt, l.Number, l.Incident = i.Attempt, number, i
	l.DetectionSeconds = int64(max(0, i.RestartTime.Sub(i.Time.Time)).Seconds())
	return l
}

// explained tells of the incidents that the plan's status knows better. The number of an incident is how many restarts there were
// with it, and the newest comes first.
func explained(job *v1alpha1.TrainingJob, p *plan.Plan) []Line {
	var lines []Line
	begun := len(p.Restarts)
	for i := len(job.Status.Incidents) - 1; i >= 0; i-- {
		if i+begun >= len(p.Status.Incidents) {
			continue // too many have begun since for the status to keep it
		}
		if is := &p.Status.Incidents[i+begun]; !equality.Semantic.DeepEqual(is, &job.Status.Incidents[i]) {
			lines = append(lines, incidentLine(job, MessageExplained, job.Status.Restarts-int32(i), is))
		}
	}
	return lines
}

func running(status *v1alpha1.TrainingJobStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionRunning)
}

// runs tells that an attempt runs, and what it cost to get there.
func runs(job *v1alpha1.TrainingJob, next *v1alpha1.TrainingJobStatus) Line {
	l := line(job, MessageRuns)
	l.Attempt = next.Attempt
	since := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionRunning).LastTransitionTime
	l.RunningTime = &since
	for i := range next.Incidents {
		was := &next.Incidents[i]
		if was.Scope == v1alpha1.ScopeJob && was.Attempt == next.Attempt-1 {
			l.Number = next.Restarts - int32(i)
			l.CostSeconds = int64(max(0, since.Sub(was.Time.Time)).Seconds())
		}
	}
	return l
}

// finished tells how the job ended. What is in earlier lines, and the operator's memory, are left out.
func finished(job *v1alpha1.TrainingJob, next *v1alpha1.TrainingJobStatus) Line {
	l := line(job, MessageFinished)
	l.Attempt = next.Attempt
	l.Status = next.DeepCopy()
	l.Status.Memory, l.Status.Incidents = v1alpha1.Memory{}, nil
	return l
}
