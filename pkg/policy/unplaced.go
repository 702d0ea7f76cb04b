package policy

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// unplaced rules because the user would rather have the job fail than wait any longer for room.
func unplaced(s *state.Snapshot) (*Verdict, time.Time) {
	scheduling := s.Job.Spec.Scheduling
	if scheduling == nil || scheduling.TimeoutSeconds == nil || s.Job.Status.StartTime == nil ||
		meta.IsStatusConditionTrue(s.Job.Status.Conditions, v1alpha1.ConditionScheduled) {
		return nil, time.Time{}
	}
	deadline := attemptStart(s.Job).Add(time.Duration(*scheduling.TimeoutSeconds) * time.Second)
	if s.Now.Before(deadline) {
		return nil, deadline
	}
	words := "the scheduler has not said why"
	if c := meta.FindStatusCondition(s.Job.Status.Conditions, v1alpha1.ConditionScheduled); c != nil {
		words = c.Message
	}
	message := clip(fmt.Sprintf("Not every pod had a node within scheduling.timeoutSeconds (%d): %s", *scheduling.TimeoutSeconds, words))
	verdict := fail(waitingSlot(s, words), v1alpha1.ReasonSchedulingTimeout, message)
	return &verdict, time.Time{}
}

// waitingSlot returns the failure of the lowest rank that has no node.
func waitingSlot(s *state.Snapshot, words string) *v1alpha1.Failure {
	slot, _ := FirstMissing(s)
	f := &v1alpha1.Failure{
		Role: slot.Role, Index: int32(slot.Index), Attempt: s.Job.Status.Attempt, Cause: v1alpha1.CauseStartup,
		Reason: v1alpha1.ReasonSchedulingTimeout, Message: clip(words), Time: metav1.NewTime(s.Now),
	}
	if p := s.Present(slot); p != nil {
		f.Pod = p.Name
	}
	return f
}
