package budget

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	// calmAfter is how long after its start a life must end for its restart to be the first in a row.
	calmAfter = 10 * time.Minute
	// leastWait is the shortest wait before the second restart in a row: without it a job could restart as fast as the API server allows.
	// After no failure the wait doubles from leastWait, whatever backoffSeconds is: a user waits for the requested restart, and a
	// completed program has done no harm.
	leastWait = time.Second
)

// Backoff returns how many restarts in a row this one makes, and the time, in whole seconds, from which its lives may begin: now for
// the first restart in a row.
func Backoff(s *state.Snapshot, restart *failure.Restart) (inRow int32, next time.Time) {
	inRow = restartsInRow(s, restart) + 1
	recovery := s.Job.Spec.Recovery
	if !failure.IsFailure(restart.Cause) {
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

// restartsInRow returns how many restarts in a row came before this one: of the replica, of the role's replica with the most, or of the
// whole job.
func restartsInRow(s *state.Snapshot, restart *failure.Restart) int32 {
	if restart.Scope == v1alpha1.ScopeJob {
		return JobRestartsInRow(s)
	}
	inRow := s.Memory[restart.Role].RestartsInRow
	of := func(slot state.Slot) int32 {
		if !s.InRange(slot) || isCalm(s, slot) {
			return 0
		}
		return int32(inRow[slot.Index])
	}
	if restart.Scope == v1alpha1.ScopeReplica {
		return of(failure.SlotOf(&restart.Failure))
	}
	var most int32
	for index := range inRow {
		most = max(most, of(state.Slot{Role: restart.Role, Index: index}))
	}
	return most
}

// isCalm reports whether the slot's present life began at least calmAfter ago, so that its next restart is the first in a row.
func isCalm(s *state.Snapshot, slot state.Slot) bool {
	return s.Now.Sub(s.NextStart(slot)) >= calmAfter
}

// CalmSlots returns two kinds of slots. The memory may drop the restarts in a row of calm slots. It may drop the start of the present life
// of settled slots, because no hang counts from it any more.
func CalmSlots(s *state.Snapshot) (calm, settled []state.Slot) {
	longest := calmAfter
	if s.Job.Spec.Progress != nil {
		longest = max(longest, state.StallAfter(s.Job.Spec.Progress))
	}
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

// JobRestartsInRow returns the number of whole-job restarts since the job last ran for calmAfter. The replacement of single replicas does
// not interrupt that time. A job that was suspended may have been mended, and begins a new row.
func JobRestartsInRow(s *state.Snapshot) int32 {
	since := s.RunningSince()
	if s.IsSuspended() || !since.IsZero() && s.Now.Sub(since) >= calmAfter {
		return 0
	}
	return s.Job.Status.Memory.RestartsInRow
}
