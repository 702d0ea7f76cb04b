package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// phases lists the conditions that make a phase. The first true one decides.
var phases = []struct {
	condition string
	phase     v1alpha1.Phase
}{
	{v1alpha1.ConditionSucceeded, v1alpha1.PhaseSucceeded},
	{v1alpha1.ConditionFailed, v1alpha1.PhaseFailed},
	{v1alpha1.ConditionQueued, v1alpha1.PhaseQueued},
	{v1alpha1.ConditionSuspended, v1alpha1.PhaseSuspended},
	{v1alpha1.ConditionRunning, v1alpha1.PhaseRunning},
	{v1alpha1.ConditionRestarting, v1alpha1.PhaseRestarting},
}

// phaseOf returns the phase that the conditions add up to.
func phaseOf(conditions []metav1.Condition) v1alpha1.Phase {
	for _, p := range phases {
		if meta.IsStatusConditionTrue(conditions, p.condition) {
			return p.phase
		}
	}
	if meta.FindStatusCondition(conditions, v1alpha1.ConditionScheduled) != nil {
		return v1alpha1.PhasePending
	}
	return v1alpha1.PhaseCreated
}

// why returns the reason and message that explain the phase. For a job under way, the obstacle comes first.
func why(status *v1alpha1.TrainingJobStatus) (reason, message string) {
	explanation := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRunning)
	for _, p := range phases {
		if p.phase == status.Phase {
			explanation = meta.FindStatusCondition(status.Conditions, p.condition)
		}
	}
	if !slices.Contains([]v1alpha1.Phase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed, v1alpha1.PhaseSuspended, v1alpha1.PhaseQueued}, status.Phase) {
		explanation = cmp.Or(waiting(status), explanation)
		if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
			explanation = c
		}
	}
	if explanation == nil {
		return "", ""
	}
	return explanation.Reason, state.KeepBeginning(explanation.Message)
}

// waiting returns the condition Scheduled if it shows that pods fit nowhere, or wait for a gang scheduler; else nil. A user can fix that.
func waiting(status *v1alpha1.TrainingJobStatus) *metav1.Condition {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionScheduled)
	if c == nil || !slices.Contains([]string{v1alpha1.ReasonUnschedulable, v1alpha1.ReasonGangWaiting, v1alpha1.ReasonGangUnavailable}, c.Reason) {
		return nil
	}
	return c
}
