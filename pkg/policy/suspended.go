package policy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// suspended rules because a suspended job has no pods. It ends only when the old pods are gone or can no longer act, and gives every
// replica its next life, so that no old pod counts as a failure.
func suspended(s *state.Snapshot) (*Ruling, time.Time) {
	if s.Job.Spec.IsSuspended() && !isResting(s) {
		if held, until := askFirst(s, stop{reason: whySuspended(s.Job), why: "the job is to be suspended"}); held != nil {
			return held, until
		}
	}
	switch {
	case s.Job.Spec.IsSuspended() && isQueued(s.Job):
		return &Ruling{Kind: Suspend, Reason: v1alpha1.ReasonQueued, Message: whyQueued(s.Job)}, time.Time{}
	case s.Job.Spec.IsSuspended():
		return &Ruling{Kind: Suspend, Reason: v1alpha1.ReasonSuspended,
			Message: "The job is suspended: spec.suspend is true. Its pods are deleted, what was counted is kept."}, time.Time{}
	case s.ChangedUnseen() && !isResting(s):
		return &Ruling{Kind: Suspend, Reason: v1alpha1.ReasonFormerPodsEnding,
			Message: "The job was suspended and changed: it resumes when the old pods are gone."}, time.Time{}
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

// whyQueued returns where the job waits, with the message of the queue.
func whyQueued(job *v1alpha1.TrainingJob) string {
	words := cmp.Or(state.Printable(job.Annotations[v1alpha1.AnnotationQueueMessage]), "spec.suspend is true until then.")
	return fmt.Sprintf("The job waits in queue %s to be admitted: %s", job.Labels[v1alpha1.LabelQueue], state.Quote(words))
}

// isQueued reports whether a queue decides when the job runs.
func isQueued(job *v1alpha1.TrainingJob) bool { return job.Labels[v1alpha1.LabelQueue] != "" }

// isResting reports whether the job is suspended, or about to be resumed.
func isResting(s *state.Snapshot) bool { return s.Is(v1alpha1.ConditionSuspended) }

// keepsSuspended returns a function that reports whether a job can resume only when the pod has ended: it ends with the
// suspension, and is not one that a lost node keeps from going.
func keepsSuspended(s *state.Snapshot) func(state.Pod) bool {
	return func(p state.Pod) bool { return s.MayAct(&p) && (!p.HasSucceeded() || !p.Ended) }
}
