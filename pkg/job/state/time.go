package state

import (
	"slices"
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

// TrueSince returns since when the condition is True; zero if it is not.
func TrueSince(status *v1alpha1.TrainingJobStatus, condition string) time.Time {
	if c := meta.FindStatusCondition(status.Conditions, condition); c != nil && c.Status == metav1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// SuspendedFor returns how long the job of the status has been suspended since its first start, the present suspension included.
func SuspendedFor(status *v1alpha1.TrainingJobStatus, now time.Time) time.Duration {
	total := time.Duration(status.SuspendedSeconds) * time.Second
	if since := TrueSince(status, v1alpha1.ConditionSuspended); status.StartTime != nil && !since.IsZero() {
		total = max(0, total+now.Sub(since)) // the clock of a former leader may have been ahead
	}
	return total
}

// RunningFor returns how long all replicas of the job have run in all its attempts, the present run included.
func RunningFor(status *v1alpha1.TrainingJobStatus, now time.Time) time.Duration {
	return time.Duration(status.RunningSeconds)*time.Second + PresentRun(status, now)
}

// PresentRun returns how long the job has been running without a break until the time.
func PresentRun(status *v1alpha1.TrainingJobStatus, until time.Time) time.Duration {
	since := TrueSince(status, v1alpha1.ConditionRunning)
	if since.IsZero() {
		return 0
	}
	return max(0, until.Truncate(time.Second).Sub(since))
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

// MayExplain reports whether a pod that is gone can still explain a recent restart: its kubelet ended it as a whole, or its program ended before the
// restart, and its kubelet reported that just before it was gone.
func (s *Snapshot) MayExplain(p *Pod) bool {
	return slices.ContainsFunc(s.Job.Status.Incidents, func(i v1alpha1.Incident) bool {
		isEvidence := p.Rejected.Reason != "" || p.Exit != nil && p.Exit.Time.Before(i.RestartTime.Time)
		return isEvidence && int(i.Attempt) == p.Life.Attempt && s.Now.Sub(i.RestartTime.Time) <= IncidentWindow(&s.Job.Spec)
	})
}

// IncidentWindow returns for how long after a failure what shows late may explain it.
func IncidentWindow(spec *v1alpha1.TrainingJobSpec) time.Duration {
	return time.Duration(ptr.Deref(spec.Recovery.IncidentWindowSeconds, v1alpha1.DefaultIncidentWindowSeconds)) * time.Second
}

// RunningSince returns since when the present attempt runs; zero if it does not.
func (s *Snapshot) RunningSince() time.Time {
	since := TrueSince(&s.Job.Status, v1alpha1.ConditionRunning)
	if since.IsZero() {
		return since
	}
	return Latest(since, s.NextAttempt())
}

// NextAttempt returns when the present attempt may begin, after a whole-job restart; zero if at once.
func (s *Snapshot) NextAttempt() time.Time {
	return ptr.Deref(s.Job.Status.NextStartTime, metav1.Time{}).Time
}

// AvoidFor returns for how long a job avoids a node; zero for not at all.
func AvoidFor(spec *v1alpha1.TrainingJobSpec) time.Duration {
	return time.Duration(ptr.Deref(spec.Recovery.AvoidNodesSeconds, v1alpha1.DefaultAvoidNodesSeconds)) * time.Second
}
