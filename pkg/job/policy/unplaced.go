package policy

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// unplaced rules because the user prefers a failed job to a longer wait for nodes. A running job never fails this way: a replaced
// replica may wait without a limit.
func unplaced(s *state.Snapshot) (*Ruling, time.Time) {
	timeout := ptr.Deref(s.Job.Spec.Scheduling, v1alpha1.Scheduling{}).TimeoutSeconds
	if timeout == nil || s.Is(v1alpha1.ConditionRunning) {
		return nil, time.Time{}
	}
	hadNode := func(r *state.Replica) bool {
		isGated := r.Pod != nil && r.Pod.Waiting.Reason == corev1.PodReasonSchedulingGated && s.NextStart(r.Slot).IsZero() // in its life since a resumption
		return r.Life.Replacement > 0 && !r.FitsNowhere() && !isGated && whyRefused(s, r) == ""
	}
	waits := firstRequiredWithout(s, func(r *state.Replica) bool { return !r.LacksNode() || hadNode(r) })
	if waits == nil {
		return nil, time.Time{}
	}
	deadline := sinceBegin(s, *timeout)
	if deadline.IsZero() || s.Now.Before(deadline) {
		return nil, deadline
	}
	message := whyUnplaced(s, waits)
	f := failure.At(s, waits, v1alpha1.CauseStartup, v1alpha1.ReasonSchedulingTimeout, message)
	return fail(&f, v1alpha1.ReasonSchedulingTimeout, fmt.Sprintf(
		"Not every pod had a node within scheduling.timeoutSeconds (%d): %s", *timeout, state.Quote(message))), time.Time{}
}

// whyUnplaced returns why the replica has no node: the refusal of its pod, the gate that keeps it from the scheduler, or what the scheduler reports.
func whyUnplaced(s *state.Snapshot, r *state.Replica) string {
	if refused := whyRefused(s, r); refused != "" {
		return refused
	}
	if r.Pod != nil && r.Pod.Waiting.Reason == corev1.PodReasonSchedulingGated {
		return fmt.Sprintf("%s: %s", r.Slot, r.Pod.Waiting.Message)
	}
	if c := meta.FindStatusCondition(s.Job.Status.Conditions, v1alpha1.ConditionScheduled); c != nil && c.Status == metav1.ConditionFalse {
		return c.Message
	}
	return "the scheduler gave no reason"
}
