package policy

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// unplaced rules because the user prefers a failed job to a longer wait for room. It never fails a running job: a replaced replica has
// all the time it needs.
func unplaced(s *state.Snapshot) (*Ruling, time.Time) {
	timeout := schedulingTimeout(s.Job)
	if timeout == nil || s.Is(v1alpha1.ConditionRunning) {
		return nil, time.Time{}
	}
	waits := firstRequiredWithout(s, func(r *state.Replica) bool { return !r.LacksNode() })
	if waits == nil {
		return nil, time.Time{}
	}
	deadline := sinceBegin(s, waits.Slot, *timeout)
	switch {
	case deadline.IsZero():
		return nil, time.Time{}
	case s.Now.Before(deadline):
		return nil, deadline
	}
	words := "the scheduler has not reported why"
	if refused := whyRefused(s, waits); refused != "" {
		words = refused
	} else if c := meta.FindStatusCondition(s.Job.Status.Conditions, v1alpha1.ConditionScheduled); c != nil && c.Status == metav1.ConditionFalse {
		words = c.Message
	}
	failure := failure.At(s, waits, v1alpha1.CauseStartup, v1alpha1.ReasonSchedulingTimeout, words)
	ruling := fail(&failure, v1alpha1.ReasonSchedulingTimeout, fmt.Sprintf(
		"Not every pod had a node within scheduling.timeoutSeconds (%d): %s", *timeout, state.Quote(words)))
	return &ruling, time.Time{}
}

func schedulingTimeout(job *v1alpha1.TrainingJob) *int32 {
	if job.Spec.Scheduling == nil {
		return nil
	}
	return job.Spec.Scheduling.TimeoutSeconds
}
