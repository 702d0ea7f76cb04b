package policy

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	// calm is how long after its start a life must end for its restart to be the first in a row.
	calm = 10 * time.Minute
	// leastWait is the shortest wait before the second restart in a row: without it a job could restart as fast as the API
	// server allows.
	leastWait = time.Second
)

// backOff returns how many restarts in a row the order makes, and the time, in whole seconds, before which the lives that it
// begins may not begin: now for the first one.
func backOff(s *state.Snapshot, o *RestartOrder) (inRow int32, next time.Time) {
	inRow = restartsInRow(s, o) + 1
	next = s.Now.Add(waitBefore(&s.Job.Spec.Recovery, inRow))
	whole := next.Truncate(time.Second)
	if inRow > 1 && whole.Before(next) {
		whole = whole.Add(time.Second)
	}
	return inRow, whole
}

// waitBefore returns the wait before the n-th restart in a row.
func waitBefore(recovery *v1alpha1.Recovery, n int32) time.Duration {
	if n <= 1 {
		return 0
	}
	seconds := func(field *int32, byDefault int32) time.Duration {
		return max(time.Duration(ptr.Deref(field, byDefault))*time.Second, leastWait)
	}
	wait, limit := seconds(recovery.BackoffSeconds, v1alpha1.DefaultBackoffSeconds), seconds(recovery.MaxBackoffSeconds, v1alpha1.DefaultMaxBackoffSeconds)
	for range n - 2 {
		if wait *= 2; wait >= limit {
			return limit
		}
	}
	return min(wait, limit)
}

// restartsInRow returns how many restarts in a row what the order restarts has gone through: the replica, any replica of the
// role, or the whole job.
func restartsInRow(s *state.Snapshot, o *RestartOrder) int32 {
	switch o.Scope {
	case v1alpha1.ScopeJob:
		return ConsecutiveRestarts(s)
	case v1alpha1.ScopeRole:
		var most int32
		for i := range int(s.Job.Spec.Replicas(o.Failure.Role)) {
			most = max(most, slotRestartsInRow(s, state.Slot{Role: o.Failure.Role, Index: i}))
		}
		return most
	default:
		return slotRestartsInRow(s, state.Slot{Role: o.Failure.Role, Index: int(o.Failure.Index)})
	}
}

func slotRestartsInRow(s *state.Snapshot, slot state.Slot) int32 {
	if IsCalm(s, slot) {
		return 0
	}
	return int32(s.Memory[slot.Role].RestartsInRow[slot.Index])
}

// IsCalm reports whether the slot was not restarted lately, so that its next restart is the first in a row.
func IsCalm(s *state.Snapshot, slot state.Slot) bool { return s.Now.Sub(s.NextStart(slot)) >= calm }

// NothingCountsFrom reports whether the time at which the slot's life could begin matters to no rule any more.
func NothingCountsFrom(s *state.Snapshot, slot state.Slot) bool {
	longest := calm
	if s.Job.Spec.Progress != nil {
		longest = max(longest, stallAfter(s))
	}
	if limit := s.Job.Spec.RunPolicy.StartupDeadlineSeconds; limit != nil {
		longest = max(longest, time.Duration(*limit)*time.Second)
	}
	if limit := schedulingTimeout(s.Job); limit != nil {
		longest = max(longest, time.Duration(*limit)*time.Second)
	}
	return s.Now.Sub(s.NextStart(slot)) >= longest
}

// ConsecutiveRestarts returns the number of whole-job restarts since the job last ran calmly. Replicas that are replaced
// alone do not disturb it.
func ConsecutiveRestarts(s *state.Snapshot) int32 {
	if since := runningSince(s.Job); !since.IsZero() && s.Now.Sub(since) >= calm {
		return 0
	}
	return s.Job.Status.ConsecutiveRestarts
}

// runningSince returns since when the present attempt runs; zero if it does not.
func runningSince(job *v1alpha1.TrainingJob) time.Time {
	running := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionRunning)
	if running == nil || running.Status != "True" {
		return time.Time{}
	}
	if next := job.Status.NextStartTime; next != nil {
		return latest(running.LastTransitionTime.Time, next.Time)
	}
	return running.LastTransitionTime.Time
}

// undisturbedSince returns since when the job runs with no replica of it replaced; zero if it does not run.
func undisturbedSince(s *state.Snapshot) time.Time {
	since := runningSince(s.Job)
	if since.IsZero() {
		return since
	}
	for role, m := range s.Memory {
		for index := range m.NextStarts {
			since = latest(since, s.NextStart(state.Slot{Role: role, Index: index}))
		}
	}
	return since
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
