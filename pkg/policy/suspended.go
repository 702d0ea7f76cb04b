package policy

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// suspended rules because a suspended job has no pods. It ends only when the pods from before the suspension are gone or can no
// longer act. It gives every replica its next life, so that no old pod counts as a failure.
func suspended(s *state.Snapshot) (*Ruling, time.Time) {
	if s.Job.Spec.IsSuspended() && !isResting(s) {
		if held, until := awaitCheckpoint(s, stop{reason: whySuspended(s.Job), why: "the job is to be suspended"}); held != nil {
			return held, until
		}
	}
	switch {
	case s.Job.Spec.IsSuspended() && isQueued(s.Job):
		return &Ruling{Kind: Suspend, Reason: v1alpha1.ReasonQueued, Message: state.WhyQueued(s.Job)}, time.Time{}
	case s.Job.Spec.IsSuspended():
		return &Ruling{Kind: Suspend, Reason: v1alpha1.ReasonSuspended,
			Message: "The job is suspended: spec.suspend is true. Its pods are deleted; its counters are kept."}, time.Time{}
	case isUnadmitted(s):
		return &Ruling{Kind: Suspend, Reason: v1alpha1.ReasonQueued, Message: state.WhyQueued(s.Job)}, time.Time{}
	case s.ChangedUnseen() && !isResting(s):
		return &Ruling{Kind: Suspend, Reason: v1alpha1.ReasonFormerPodsEnding,
			Message: "The job was suspended and changed: it resumes when its old pods are gone."}, time.Time{}
	case isResting(s) && (slices.ContainsFunc(s.Pods, keepsSuspended(s)) || len(s.Spares)+len(s.Gang.Groups) > 0):
		return &Ruling{Kind: Suspend, Reason: v1alpha1.ReasonFormerPodsEnding,
			Message: "The job resumes when the pods from before its suspension are gone."}, time.Time{}
	default:
		return nil, time.Time{}
	}
}

// whySuspended returns the reason of a suspension.
func whySuspended(job *v1alpha1.TrainingJob) string {
	if isQueued(job) {
		return v1alpha1.ReasonQueued
	}
	return v1alpha1.ReasonSuspended
}

// isQueued reports whether a queue decides when the job runs.
func isQueued(job *v1alpha1.TrainingJob) bool { return job.Labels[v1alpha1.LabelQueue] != "" }

// isUnadmitted reports whether a job of a queue begins or resumes, and no queue has admitted it. It holds without an admission policy
// that suspends the job, and without the adapter that does so a moment later.
func isUnadmitted(s *state.Snapshot) bool {
	begins := s.Job.Status.StartTime == nil || isResting(s)
	return begins && isQueued(s.Job) && !slices.Contains(s.Job.Finalizers, v1alpha1.FinalizerQuota)
}

// isResting reports whether the job is suspended, or about to resume.
func isResting(s *state.Snapshot) bool { return s.Is(v1alpha1.ConditionSuspended) }

// keepsSuspended returns a function that reports whether the job can resume only after the pod has ended. Pods that ended with
// their success do not count, nor do pods that a lost node keeps from ending.
func keepsSuspended(s *state.Snapshot) func(state.Pod) bool {
	return func(p state.Pod) bool { return s.MayAct(&p) && (!p.HasSucceeded() || !p.Ended) }
}
