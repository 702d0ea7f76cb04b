package state

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Earliest returns the earliest of the times, of which zero ones do not count; zero if all are.
func Earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// SuspendedFor returns how long the job has been suspended since its first start, the present suspension included.
func SuspendedFor(job *v1alpha1.TrainingJob, now time.Time) time.Duration {
	total := time.Duration(job.Status.SuspendedSeconds) * time.Second
	condition := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionSuspended)
	if job.Status.StartTime == nil || condition == nil || condition.Status != "True" {
		return total
	}
	return total + now.Sub(condition.LastTransitionTime.Time)
}

// IncidentWindow returns for how long after a failure what shows late may explain it.
func IncidentWindow(spec *v1alpha1.TrainingJobSpec) time.Duration {
	return time.Duration(ptr.Deref(spec.Recovery.IncidentWindowSeconds, v1alpha1.DefaultIncidentWindowSeconds)) * time.Second
}

// RunningSince returns since when the present attempt runs; zero if it does not.
func RunningSince(job *v1alpha1.TrainingJob) time.Time {
	running := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionRunning)
	if running == nil || running.Status != "True" {
		return time.Time{}
	}
	if next := job.Status.NextStartTime; next != nil {
		return Latest(running.LastTransitionTime.Time, next.Time)
	}
	return running.LastTransitionTime.Time
}

// AvoidFor returns for how long a job avoids a node; zero for not at all.
func AvoidFor(spec *v1alpha1.TrainingJobSpec) time.Duration {
	return time.Duration(ptr.Deref(spec.Recovery.AvoidNodesSeconds, v1alpha1.DefaultAvoidNodesSeconds)) * time.Second
}
