package plan

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// The least time between two writes of a status with no urgent change, and with no change but the training's step. Thousands of
// jobs renew their Leases all the time.
const (
	recordEvery     = 3 * time.Second
	recordStepEvery = time.Minute
)

// changesLives reports whether next begins or ends a life, a suspension or the job. Its steps must then wait until next is
// written.
func changesLives(was, next *v1alpha1.TrainingJobStatus) bool {
	return beginsLives(was, next) || was.Memory.Lives != next.Memory.Lives ||
		changed(was, next, v1alpha1.ConditionSuspended) || changed(was, next, v1alpha1.ConditionFinished)
}

func beginsLives(was, next *v1alpha1.TrainingJobStatus) bool {
	return was.Attempt != next.Attempt || !maps.Equal(livesOf(was), livesOf(next))
}

// livesOf returns, by role, the text that identifies the replicas' lives within an attempt.
func livesOf(status *v1alpha1.TrainingJobStatus) map[v1alpha1.Role]string {
	lives := map[v1alpha1.Role]string{}
	for role, m := range status.Memory.Roles {
		if m.Replacements != "" {
			lives[role] = m.Replacements
		}
	}
	return lives
}

// recordAfter returns how long after the last write of the status a next write without urgency may come.
func recordAfter(was, next *v1alpha1.TrainingJobStatus) time.Duration {
	if was.Progress == nil || next.Progress == nil {
		return recordEvery
	}
	same, progress := *next, *next.Progress
	progress.Step, progress.Metrics, progress.RenewTime = was.Progress.Step, was.Progress.Metrics, was.Progress.RenewTime
	same.Progress, same.LostSeconds, same.Memory.CountedTime, same.Memory.Report = &progress, was.LostSeconds, was.Memory.CountedTime, was.Memory.Report
	if equality.Semantic.DeepEqual(was, &same) {
		return recordStepEvery
	}
	return recordEvery
}

// isUrgent reports whether next must be written at once: more than progress has changed.
func isUrgent(was, next *v1alpha1.TrainingJobStatus) bool {
	for _, condition := range []string{v1alpha1.ConditionCreated, v1alpha1.ConditionScheduled, v1alpha1.ConditionRunning, v1alpha1.ConditionRestarting, v1alpha1.ConditionProgressing, v1alpha1.ConditionStalled} {
		if changed(was, next, condition) {
			return true
		}
	}
	return stopID(was) != stopID(next) || was.ObservedGeneration != next.ObservedGeneration || !equality.Semantic.DeepEqual(was.Incidents, next.Incidents) || reasonToWait(was) != reasonToWait(next) ||
		startedAmongRunning(was, next) || changesLives(was, next)
}

// startedAmongRunning reports whether a replica has started in a running job. Until that is written, its loss would not be
// counted. While a job starts, a write for each replica would cost too much.
func startedAmongRunning(was, next *v1alpha1.TrainingJobStatus) bool {
	if !meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionRunning) {
		return false
	}
	for role, is := range next.Memory.Roles {
		if is.Started != was.Memory.Roles[role].Started {
			return true
		}
	}
	return false
}

// reasonToWait returns why the job does not run. Users see a new reason at once.
func reasonToWait(status *v1alpha1.TrainingJobStatus) string {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRunning)
	if c == nil || c.Status == "True" {
		return ""
	}
	return c.Reason
}

func changed(was, next *v1alpha1.TrainingJobStatus, condition string) bool {
	return meta.IsStatusConditionTrue(was.Conditions, condition) != meta.IsStatusConditionTrue(next.Conditions, condition)
}

func stopID(status *v1alpha1.TrainingJobStatus) string {
	return ptr.Deref(status.CheckpointRequest, v1alpha1.CheckpointRequest{}).ID
}
