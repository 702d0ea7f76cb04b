package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
)

// conditionsThatCount are those that the phase is a function of, the most telling first, with the phase that each makes.
var conditionsThatCount = []struct {
	kind  string
	phase v1alpha1.Phase
}{
	{v1alpha1.ConditionSucceeded, v1alpha1.PhaseSucceeded},
	{v1alpha1.ConditionFailed, v1alpha1.PhaseFailed},
	{v1alpha1.ConditionQueued, v1alpha1.PhaseQueued},
	{v1alpha1.ConditionSuspended, v1alpha1.PhaseSuspended},
	{v1alpha1.ConditionRunning, v1alpha1.PhaseRunning},
	{v1alpha1.ConditionRestarting, v1alpha1.PhaseRestarting},
}

func TestThePhaseIsThatOfTheMostTellingCondition(t *testing.T) {
	all := []string{v1alpha1.ConditionCreated, v1alpha1.ConditionScheduled, v1alpha1.ConditionFinished, v1alpha1.ConditionStalled}
	for _, c := range conditionsThatCount {
		all = append(all, c.kind)
	}
	for mask := range 1 << len(all) {
		var present []metav1.Condition
		for i, kind := range all {
			if mask&(1<<i) != 0 {
				present = append(present, metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
			}
		}
		got, reversed := plan.PhaseOf(present), slices.Clone(present)
		slices.Reverse(reversed)
		if want := phaseWanted(present); got != want || plan.PhaseOf(reversed) != want {
			t.Errorf("phase of %v: %s, in reverse %s, want %s", present, got, plan.PhaseOf(reversed), want)
		}
	}
}

func phaseWanted(present []metav1.Condition) v1alpha1.Phase {
	has := func(kind string) bool {
		return slices.ContainsFunc(present, func(c metav1.Condition) bool { return c.Type == kind })
	}
	for _, c := range conditionsThatCount {
		if has(c.kind) {
			return c.phase
		}
	}
	if has(v1alpha1.ConditionScheduled) {
		return v1alpha1.PhasePending
	}
	return v1alpha1.PhaseCreated
}

func TestAConditionThatIsNotTrueMakesNoPhase(t *testing.T) {
	for _, c := range conditionsThatCount {
		for _, status := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
			if diff := cmp.Diff(v1alpha1.PhaseCreated, plan.PhaseOf([]metav1.Condition{{Type: c.kind, Status: status}})); diff != "" {
				t.Errorf("%s=%s (-want +got):\n%s", c.kind, status, diff)
			}
		}
	}
}
