package history

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Became reports whether a condition is True now and was not before.
func Became(was, is *v1alpha1.TrainingJobStatus, condition string) bool {
	return !meta.IsStatusConditionTrue(was.Conditions, condition) && meta.IsStatusConditionTrue(is.Conditions, condition)
}

// Ceased reports whether a condition was True before and is not now.
func Ceased(was, is *v1alpha1.TrainingJobStatus, condition string) bool {
	return Became(is, was, condition)
}

// since returns when the condition got its present value; zero if there is none.
func since(status *v1alpha1.TrainingJobStatus, condition string) metav1.Time {
	if c := meta.FindStatusCondition(status.Conditions, condition); c != nil {
		return c.LastTransitionTime
	}
	return metav1.Time{}
}

func (h *History) queued() {
	if Ceased(h.Was, h.Is, v1alpha1.ConditionQueued) {
		h.add(Transition{
			Kind: Queued, Attempt: h.Is.Attempt,
			Begin: since(h.Was, v1alpha1.ConditionQueued), End: since(h.Is, v1alpha1.ConditionQueued),
		})
	}
}

// stopped adds the end of an attempt that ran. The attempt ended with its failure, before the operator saw it.
func (h *History) stopped() {
	if !Ceased(h.Was, h.Is, v1alpha1.ConditionRunning) {
		return
	}
	end := since(h.Is, v1alpha1.ConditionRunning)
	if incident, _ := restartOf(h.Is, h.Was.Attempt); incident != nil && h.Is.Attempt > h.Was.Attempt {
		if incident.Time.Before(&end) { // the node's clock may be ahead
			end = incident.Time
		}
	} else if h.Is.CompletionTime != nil {
		end = *h.Is.CompletionTime
	}
	h.add(Transition{Kind: Running, Attempt: h.Was.Attempt, Begin: since(h.Was, v1alpha1.ConditionRunning), End: end})
}

func (h *History) scheduled() {
	if !Became(h.Was, h.Is, v1alpha1.ConditionScheduled) || h.Is.StartTime == nil {
		return
	}
	begin := beginOf(h.Is)
	if lost := since(h.Was, v1alpha1.ConditionScheduled); begin.Before(&lost) { // a pod had lost its node
		begin = lost
	}
	h.addAttempt(Scheduled, begin, since(h.Is, v1alpha1.ConditionScheduled))
}

func (h *History) runs() {
	if !Became(h.Was, h.Is, v1alpha1.ConditionRunning) {
		return
	}
	var begin metav1.Time
	if meta.IsStatusConditionTrue(h.Is.Conditions, v1alpha1.ConditionScheduled) {
		begin = since(h.Is, v1alpha1.ConditionScheduled)
	}
	h.addAttempt(Runs, begin, since(h.Is, v1alpha1.ConditionRunning))
}

// addAttempt adds a transition of the present attempt, with the restart that began it.
func (h *History) addAttempt(kind Kind, begin, end metav1.Time) {
	incident, number := restartOf(h.Is, h.Is.Attempt-1)
	h.add(Transition{Kind: kind, Attempt: h.Is.Attempt, Begin: begin, End: end, Incident: incident, Number: number})
}

// beginOf returns when the present attempt began: with the job, with a restart, or with its resumption.
func beginOf(is *v1alpha1.TrainingJobStatus) metav1.Time {
	begin := *is.StartTime
	if incident, _ := restartOf(is, is.Attempt-1); incident != nil {
		begin = incident.RestartTime
	}
	if resumed := since(is, v1alpha1.ConditionSuspended); begin.Before(&resumed) {
		begin = resumed
	}
	return begin
}
