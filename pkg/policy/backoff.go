package policy

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	// calmAfter is how long after its start a life must end for its restart to be the first in a row.
	calmAfter = 10 * time.Minute
	// leastWait is the shortest wait before the second restart in a row: without it a job could restart as fast as the API
	// server allows. A restart that a user requests begins to double from it, whatever backoffSeconds is: the user waits for it.
	leastWait = time.Second
)

// backOff returns how many restarts in a row the incident makes, and the time, in whole seconds, before which the lives that it
// begins may not begin: now for the first one.
func backOff(s *state.Snapshot, i *Incident) (inRow int32, next time.Time) {
	inRow = restartsInRow(s, i) + 1
	recovery := s.Job.Spec.Recovery
	if i.Cause == v1alpha1.CauseRequested {
		recovery.BackoffSeconds = ptr.To[int32](0)
	}
	next = s.Now.Add(waitBefore(&recovery, inRow))
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

// restartsInRow returns how many restarts in a row what the incident restarts has gone through: the replica, any replica of the
// role, or the whole job.
func restartsInRow(s *state.Snapshot, i *Incident) int32 {
	if i.Scope == v1alpha1.ScopeJob {
		return jobRestartsInRow(s)
	}
	inRow := s.Memory[i.Role].RestartsInRow
	of := func(slot state.Slot) int32 {
		if !s.InRange(slot) || isCalm(s, slot) {
			return 0
		}
		return int32(inRow[slot.Index])
	}
	if i.Scope == v1alpha1.ScopeReplica {
		return of(slotOf(&i.Failure))
	}
	var most int32
	for index := range inRow {
		most = max(most, of(state.Slot{Role: i.Role, Index: index}))
	}
	return most
}

// isCalm reports whether the slot was not restarted lately, so that its next restart is the first in a row.
func isCalm(s *state.Snapshot, slot state.Slot) bool {
	return s.Now.Sub(s.NextStart(slot)) >= calmAfter
}

// calmSlots returns the slots of which the restarts in a row may be forgotten, and those of which the time at which the life could
// begin may be, as no rule counts from it any more.
func calmSlots(s *state.Snapshot) (calm, settled []state.Slot) {
	longest := longestCount(s)
	for role, m := range s.Memory {
		for index := range m.RestartsInRow {
			if slot := (state.Slot{Role: role, Index: index}); isCalm(s, slot) {
				calm = append(calm, slot)
			}
		}
		for index := range m.NextStarts {
			if slot := (state.Slot{Role: role, Index: index}); s.Now.Sub(s.NextStart(slot)) >= longest {
				settled = append(settled, slot)
			}
		}
	}
	return calm, settled
}

// longestCount returns the longest time that a rule counts from the beginning of a life.
func longestCount(s *state.Snapshot) time.Duration {
	longest := calmAfter
	if s.Job.Spec.Progress != nil {
		longest = max(longest, stallAfter(s))
	}
	for _, limit := range []*int32{s.Job.Spec.RunPolicy.StartupDeadlineSeconds, schedulingTimeout(s.Job)} {
		longest = max(longest, time.Duration(ptr.Deref(limit, 0))*time.Second)
	}
	return longest
}

// jobRestartsInRow returns the number of whole-job restarts since the job last ran calmly. Replicas that are replaced
// alone do not disturb it.
func jobRestartsInRow(s *state.Snapshot) int32 {
	if since := runningSince(s.Job); !since.IsZero() && s.Now.Sub(since) >= calmAfter {
		return 0
	}
	return s.Job.Status.Memory.RestartsInRow
}

// runningSince returns since when the present attempt runs; zero if it does not.
func runningSince(job *v1alpha1.TrainingJob) time.Time {
	running := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionRunning)
	if running == nil || running.Status != "True" {
		return time.Time{}
	}
	if next := job.Status.NextStartTime; next != nil {
		return state.Latest(running.LastTransitionTime.Time, next.Time)
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
			since = state.Latest(since, s.NextStart(state.Slot{Role: role, Index: index}))
		}
	}
	return since
}
