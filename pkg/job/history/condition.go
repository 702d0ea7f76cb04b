package history

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// became reports whether a condition is True now and was not before.
func became(was, is *v1alpha1.TrainingJobStatus, condition string) bool {
	return !meta.IsStatusConditionTrue(was.Conditions, condition) && meta.IsStatusConditionTrue(is.Conditions, condition)
}

// since returns when the condition got its present value; zero if there is none.
func since(status *v1alpha1.TrainingJobStatus, condition string) metav1.Time {
	if c := meta.FindStatusCondition(status.Conditions, condition); c != nil {
		return c.LastTransitionTime
	}
	return metav1.Time{}
}

func (h *History) queued() {
	if became(h.Is, h.Was, v1alpha1.ConditionQueued) { // it was in its queue, and is not any more
		h.add(Transition{
			Kind: Queued, Attempt: h.Is.Attempt,
			Begin: since(h.Was, v1alpha1.ConditionQueued), End: since(h.Is, v1alpha1.ConditionQueued),
		})
	}
}

// scheduled adds the wait of the first attempt for its nodes. A later attempt waits for them as a part of a recovery.
func (h *History) scheduled() {
	if h.Is.Attempt > 0 || h.Is.StartTime == nil || !became(h.Was, h.Is, v1alpha1.ConditionScheduled) {
		return
	}
	begin := *h.Is.StartTime
	resumed, lost := since(h.Is, v1alpha1.ConditionSuspended), since(h.Was, v1alpha1.ConditionScheduled) // a pod had lost its node
	for _, later := range []metav1.Time{resumed, lost} {
		if begin.Before(&later) {
			begin = later
		}
	}
	h.add(Transition{Kind: Scheduled, Begin: begin, End: since(h.Is, v1alpha1.ConditionScheduled)})
}

func (h *History) runs() {
	if became(h.Was, h.Is, v1alpha1.ConditionRunning) {
		incident, number := restartOf(h.Is, h.Is.Attempt-1)
		h.add(Transition{Kind: Runs, Attempt: h.Is.Attempt, End: since(h.Is, v1alpha1.ConditionRunning), Incident: incident, Number: number})
	}
}
