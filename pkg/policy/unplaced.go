package policy

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// unplaced rules because the user would rather have the job fail than wait any longer for room. A job that runs waits for
// nobody: a replica that is replaced has all the time it takes.
func unplaced(s *state.Snapshot) (*Verdict, time.Time) {
	timeout := schedulingTimeout(s.Job)
	if timeout == nil ||
		meta.IsStatusConditionTrue(s.Job.Status.Conditions, v1alpha1.ConditionRunning) {
		return nil, time.Time{}
	}
	slot, waits := firstWithout(s, hasNode)
	deadline := sinceBegin(s, slot, *timeout)
	switch {
	case !waits || deadline.IsZero():
		return nil, time.Time{}
	case s.Now.Before(deadline):
		return nil, deadline
	}
	words := "the scheduler has not said why"
	if c := meta.FindStatusCondition(s.Job.Status.Conditions, v1alpha1.ConditionScheduled); c != nil && c.Status == metav1.ConditionFalse {
		words = c.Message
	}
	failure := &v1alpha1.Failure{
		Role: slot.Role, Index: int32(slot.Index), Attempt: s.Job.Status.Attempt, Cause: v1alpha1.CauseStartup,
		Reason: v1alpha1.ReasonSchedulingTimeout, Message: clip(words), Time: metav1.NewTime(s.Now),
	}
	if p := s.Present(slot); p != nil {
		failure.Pod = p.Name
	}
	verdict := fail(failure, v1alpha1.ReasonSchedulingTimeout, clip(fmt.Sprintf(
		"Not every pod had a node within scheduling.timeoutSeconds (%d): %s", *timeout, words)))
	return &verdict, time.Time{}
}

func schedulingTimeout(job *v1alpha1.TrainingJob) *int32 {
	if job.Spec.Scheduling == nil {
		return nil
	}
	return job.Spec.Scheduling.TimeoutSeconds
}

// hasNode reports whether the slot needs no node, or its present pod has one.
func hasNode(s *state.Snapshot, slot state.Slot) bool {
	p := s.Present(slot)
	return !s.IsWanted(slot) || HasSucceeded(s, slot) || p != nil && p.Scheduled()
}
