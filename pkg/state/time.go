package state

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Earliest returns the earliest of the times, without zero ones; zero if all are zero.
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

// SuspendedFor returns how long the job of the status has been suspended since its first start, the present suspension included.
func SuspendedFor(status *v1alpha1.TrainingJobStatus, now time.Time) time.Duration {
	total := time.Duration(status.SuspendedSeconds) * time.Second
	condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSuspended)
	if status.StartTime == nil || condition == nil || condition.Status != metav1.ConditionTrue {
		return total
	}
	return total + now.Sub(condition.LastTransitionTime.Time)
}

// RunningFor returns how long all replicas of the job have run in all its attempts, the present run included.
func RunningFor(status *v1alpha1.TrainingJobStatus, now time.Time) time.Duration {
	total := time.Duration(status.RunningSeconds) * time.Second
	condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRunning)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return total
	}
	return total + max(0, now.Truncate(time.Second).Sub(condition.LastTransitionTime.Time))
}

// RunningTimeRatio returns the time that the job has run over the time from its first start to its end or now, suspensions left
// out. It reports false for a job that has not started. A status holds no ratio, because a status of a job that runs well is
// seldom written.
func RunningTimeRatio(status *v1alpha1.TrainingJobStatus, now time.Time) (float64, bool) {
	if status.StartTime == nil {
		return 0, false
	}
	until := now.Truncate(time.Second)
	if status.CompletionTime != nil {
		until = status.CompletionTime.Time
	}
	total := until.Sub(status.StartTime.Time) - SuspendedFor(status, until)
	if total < time.Second {
		return 0, false
	}
	return min(1, RunningFor(status, until).Seconds()/total.Seconds()), true
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
