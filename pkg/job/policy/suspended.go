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
	// a job that continues while it waits creates missing pods, which must not meet pods of another shape
	isChangedInFull := s.ChangedUnseen() && !s.Any(func(r *state.Replica) bool { return r.State == state.Missing })
	if (s.Job.Spec.IsSuspended() || isChangedInFull) && !s.Is(v1alpha1.ConditionSuspended) {
		reason := v1alpha1.ReasonSuspended
		if isQueued(s.Job) {
			reason = v1alpha1.ReasonQueued
		}
		if held, until := awaitCheckpoint(s, reason, "the job is to be suspended"); held != nil {
			return held, until
		}
	}
	switch {
	case isQueued(s.Job) && (s.Job.Spec.IsSuspended() || isUnadmitted(s)):
		return suspend(s, v1alpha1.ReasonQueued, state.WhyQueued(s.Job)), time.Time{}
	case s.Job.Spec.IsSuspended():
		return suspend(s, v1alpha1.ReasonSuspended, "The job is suspended: its spec has suspend: true. Its pods are stopped; its counters are kept."), time.Time{}
	case s.ChangedUnseen() && !s.Is(v1alpha1.ConditionSuspended):
		return suspend(s, v1alpha1.ReasonFormerPodsEnding, "The job was suspended and changed: it resumes when its old pods are gone."), time.Time{}
	case s.Is(v1alpha1.ConditionSuspended) && hasLeftovers(s):
		return suspend(s, v1alpha1.ReasonFormerPodsEnding, "The job resumes when the pods from before its suspension are gone."), time.Time{}
	default:
		return nil, time.Time{}
	}
}

// suspend returns the ruling, with the failure that the suspension comes before: nothing restarts for it, and its log stays.
func suspend(s *state.Snapshot, reason, message string) *Ruling {
	ruling := &Ruling{Kind: Suspend, Reason: reason, Message: message}
	if broken := failure.Find(s); len(broken) > 0 && !s.Is(v1alpha1.ConditionSuspended) {
		ruling.Failure = &failure.First(s, broken).Failure
	}
	return ruling
}

// isUnadmitted reports whether the job of a queue begins or resumes, and no queue has admitted it. It holds without an admission policy
// that suspends the job, and without the adapter that does so a moment later.
func isUnadmitted(s *state.Snapshot) bool {
	begins := s.Job.Status.StartTime == nil || s.Is(v1alpha1.ConditionSuspended)
	return begins && !slices.Contains(s.Job.Finalizers, v1alpha1.FinalizerQuota)
}

// hasLeftovers reports whether pods or groups from before the suspension have yet to go. Pods that ended with their success do not
// count, nor do pods that a lost node keeps from ending.
func hasLeftovers(s *state.Snapshot) bool {
	isAwaited := func(p state.Pod) bool { return s.MayAct(&p) && (!p.HasSucceeded() || !p.Ended) }
	return slices.ContainsFunc(s.Pods, isAwaited) || len(s.Gang.Groups) > 0
}

func isQueued(job *v1alpha1.TrainingJob) bool { return job.Labels[v1alpha1.LabelQueue] != "" }
