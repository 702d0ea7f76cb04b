package policy

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// A stop is one of ranks that are well, which may have a moment to save a checkpoint.
type stop struct {
	// reason is the reason of the request, why a clause: "the job is to be suspended".
	reason, why string
}

// askFirst returns the ruling that waits until the ranks have saved a checkpoint, and the time of its deadline; nil once they are to be
// stopped: they have answered or let the deadline pass, the job gives them no time, or they do not train. One request is enough for
// all that stops them.
func askFirst(s *state.Snapshot, stop stop) (*Ruling, time.Time) {
	r, by := s.Job.Status.CheckpointRequest, firstEnd(s)
	switch {
	case checkpointWait(s) == 0 || !canSave(s):
		return nil, time.Time{}
	case r == nil:
		r = s.NewCheckpointRequest(stop.reason, stopBy(s, by))
	case s.HasAnswered(r):
		return nil, time.Time{}
	}
	due := state.Earliest(r.DeadlineTime.Time, by)
	if !s.Now.Before(due) {
		return nil, time.Time{}
	}
	return &Ruling{Kind: Hold, Asked: r, Reason: v1alpha1.ReasonStopAsked, Message: fmt.Sprintf(
		"The ranks save a checkpoint first, because %s; they are stopped after it, and at %s UTC at the latest.%s",
		stop.why, due.UTC().Format(time.TimeOnly), bounded(s))}, due
}

// checkpointWait returns how long the ranks have to save a checkpoint: what the job gives them, as far as the operator allows it.
func checkpointWait(s *state.Snapshot) time.Duration { return min(askedFor(s), s.MaxCheckpointWait) }

// askedFor returns how long the job gives its ranks to save a checkpoint.
func askedFor(s *state.Snapshot) time.Duration {
	if s.Job.Spec.Progress == nil {
		return 0
	}
	return time.Duration(s.Job.Spec.Progress.CheckpointGraceSeconds) * time.Second
}

// bounded returns a sentence if the operator gives the ranks less time than the job does; else it is empty.
func bounded(s *state.Snapshot) string {
	if askedFor(s) <= s.MaxCheckpointWait {
		return ""
	}
	return fmt.Sprintf(" The operator bounds progress.checkpointGraceSeconds to %v.", s.MaxCheckpointWait)
}

// firstEnd returns when the first deleted pod of a rank is killed, and with it the checkpoint; zero without a deleted pod.
func firstEnd(s *state.Snapshot) time.Time {
	var by time.Time
	for r := range s.Replicas() {
		if isTrainingOn(r) {
			by = state.Earliest(by, r.Pod.EndsBy)
		}
	}
	return by
}

// stopBy returns the deadline of a request that is made now, in whole seconds.
func stopBy(s *state.Snapshot, by time.Time) time.Time {
	own := s.Now.Add(checkpointWait(s) + time.Second - 1)
	return state.Earliest(own, by).Truncate(time.Second)
}

// canSave reports whether the job runs, by its status, and no replica is broken except deleted pods that have not ended. It does not read
// whether the pods run, because the pods may be older than the status.
func canSave(s *state.Snapshot) bool {
	for r := range s.Replicas() {
		if r.IsBroken() && !isTrainingOn(r) {
			return false
		}
	}
	return s.Is(v1alpha1.ConditionRunning) && canHear(s)
}

// canHear reports whether the pods of all replicas that run were made with the file of requests, which progress.checkpointGraceSeconds may have been
// added after: a rank without it trains on, and the others save nothing that fits. Evaluators need not save.
func canHear(s *state.Snapshot) bool {
	for r := range s.Replicas() {
		runs := r.State == state.Running || isTrainingOn(r)
		if runs && !r.Pod.Hears && r.Slot.Role != v1alpha1.Evaluator {
			return false
		}
	}
	return true
}

// isTrainingOn reports whether the replica's pod is deleted and runs for the rest of its grace period.
func isTrainingOn(r *state.Replica) bool {
	p := r.Pod
	return r.State == state.Failed && p.Phase == corev1.PodRunning && p.Exit == nil && !p.MainSucceeded && !p.Fenced
}

// scaledIn has the ranks asked before some of them are taken away because the spec has fewer replicas.
func scaledIn(s *state.Snapshot) (*Ruling, time.Time) {
	for i := range s.Pods {
		if p := &s.Pods[i]; !s.InRange(p.Slot) && p.Life == s.Life(p.Slot) && p.Deleted.IsZero() && s.MayAct(p) {
			return askFirst(s, stop{reason: v1alpha1.ReasonScaledIn, why: "the job is to have fewer replicas"})
		}
	}
	return nil, time.Time{}
}
