package policy

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// suspended rules because a suspended job has no pods. It ends only when the pods from before the suspension are gone or can no
// longer act. It gives every replica its next life, so that no old pod counts as a failure.
func suspended(s *state.Snapshot) (*Ruling, time.Time) {
	by, isAsked, rests := v1alpha1.ReasonSuspended, s.Job.Spec.IsSuspended(), s.IsSuspended()
	if s.Job.Labels[v1alpha1.LabelQueue] != "" {
		by = v1alpha1.ReasonQueued
	}
	ruling := &Ruling{Kind: Suspend, Reason: by}
	switch {
	case by == v1alpha1.ReasonQueued && (isAsked || isUnadmitted(s)):
		ruling.Message = state.WhyQueued(s.Job)
	case isAsked:
		ruling.Message = "The job is suspended: its spec has suspend: true. Its pods are stopped; its counters are kept."
	case !rests && s.ChangedUnseen():
		ruling.Reason, ruling.Message = v1alpha1.ReasonFormerPodsEnding, "The job was suspended and changed: it resumes when its old pods are gone."
	case rests && hasLeftovers(s):
		ruling.Reason, ruling.Message = v1alpha1.ReasonFormerPodsEnding, "The job resumes when the pods from before its suspension are gone."
	default:
		return nil, time.Time{}
	}
	if rests {
		return ruling, time.Time{}
	}
	// a job that continues while it waits creates missing pods, which must not meet pods of another shape
	if isAsked || !s.Any(func(r *state.Replica) bool { return r.State == state.Missing }) {
		if held, until := awaitCheckpoint(s, by, "the job is to be suspended"); held != nil {
			return held, until
		}
	}
	if broken := failure.Find(s); len(broken) > 0 { // nothing restarts for it, and its log stays
		ruling.Failure = &failure.First(s, broken).Failure
	}
	return ruling, time.Time{}
}

// isUnadmitted reports whether the job of a queue begins or resumes, and no queue has admitted it. It holds without an admission policy
// that suspends the job, and without the adapter that does so a moment later.
func isUnadmitted(s *state.Snapshot) bool {
	begins := s.Job.Status.StartTime == nil || s.IsSuspended()
	return begins && !slices.Contains(s.Job.Finalizers, v1alpha1.FinalizerQuota)
}

// hasLeftovers reports whether pods or groups from before the suspension have yet to go. Pods that ended with their success do not
// count, nor do pods that a lost node keeps from ending.
func hasLeftovers(s *state.Snapshot) bool {
	isAwaited := func(p state.Pod) bool { return s.MayAct(&p) && (!p.HasSucceeded() || !p.Ended) }
	return slices.ContainsFunc(s.Pods, isAwaited) || len(s.Gang.Groups) > 0
}
