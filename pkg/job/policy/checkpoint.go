package policy

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// awaitCheckpoint returns the ruling that waits for the ranks to save a checkpoint, and its deadline. It returns nil once the
// ranks may be stopped: they have answered, the deadline has passed, the job gives them no time, or they do not train. One
// request serves all stops. reason is the reason of the request, why is a clause: "the job is to be suspended".
func awaitCheckpoint(s *state.Snapshot, reason, why string) (*Ruling, time.Time) {
	r, by := s.Job.Status.CheckpointRequest, firstEnd(s)
	switch {
	case checkpointWait(s) == 0 || !canSave(s):
		return nil, time.Time{}
	case r == nil:
		own := s.Now.Add(checkpointWait(s) + time.Second - 1) // rounded up to whole seconds
		r = s.NewCheckpointRequest(reason, state.Earliest(own, by).Truncate(time.Second))
	case s.HasAnswered(r):
		return nil, time.Time{}
	}
	due := state.Earliest(r.DeadlineTime.Time, by)
	if !s.Now.Before(due) {
		return nil, time.Time{}
	}
	return &Ruling{Kind: Hold, Asked: r, Reason: v1alpha1.ReasonCheckpointRequested, Message: fmt.Sprintf(
		"Waiting for the ranks to save a checkpoint, because %s. They are stopped after they have saved it, at the latest at %s UTC.%s",
		why, due.UTC().Format(time.TimeOnly), bounded(s))}, due
}

// checkpointWait returns how long the ranks have to save a checkpoint: the time that the job gives them, up to the operator's
// limit.
func checkpointWait(s *state.Snapshot) time.Duration {
	return min(checkpointGrace(s), s.MaxCheckpointWait)
}

func checkpointGrace(s *state.Snapshot) time.Duration {
	return time.Duration(ptr.Deref(s.Job.Spec.Progress, v1alpha1.Progress{}).CheckpointGraceSeconds) * time.Second
}

// bounded returns a sentence if the operator's limit is shorter than the time that the job gives; else it is empty.
func bounded(s *state.Snapshot) string {
	if checkpointGrace(s) <= s.MaxCheckpointWait {
		return ""
	}
	return fmt.Sprintf(" The operator limits progress.checkpointGraceSeconds to %v.", s.MaxCheckpointWait)
}

// firstEnd returns when the first terminating rank or parameter server is killed. The checkpoint is lost then. It returns zero if none is
// terminating.
func firstEnd(s *state.Snapshot) time.Time {
	var by time.Time
	for r := range s.Replicas() {
		if isTerminating(r) && state.IsNeeded(r.Slot.Role) {
			by = state.Earliest(by, r.Pod.EndsBy)
		}
	}
	return by
}

// canSave reports whether the job runs by its status, rank 0, which answers, is not done and not in its back-off, all broken replicas are still terminating, and the
// pods of all running ones have the file of requests. It does not check that every other pod runs: the cached pods may be older than the status.
//
// Pods from before progress.checkpointGraceSeconds was set do not have the file. A rank without it trains on, and the checkpoint of
// the others is incomplete. Only roles that the training needs save.
func canSave(s *state.Snapshot) bool {
	reporter := s.Reporter()
	isDone := reporter != nil && (reporter.State == state.Succeeded || s.Now.Before(s.NextStart(reporter.Slot)))
	if success, _ := succeeded(s); isDone && success == nil { // a success breaks the hold
		return false
	}
	return s.Is(v1alpha1.ConditionRunning) && !s.Any(func(r *state.Replica) bool {
		terminates := isTerminating(r)
		runs := r.State == state.Running || terminates
		return state.IsNeeded(r.Slot.Role) && (r.IsBroken() && !terminates || runs && !r.Pod.Hears)
	})
}

// isTerminating reports whether the replica's pod was deleted and still runs in its grace period.
func isTerminating(r *state.Replica) bool {
	p := r.Pod
	return r.State == state.Failed && p.Phase == corev1.PodRunning && p.Exit == nil && !p.MainSucceeded && !p.Fenced
}
