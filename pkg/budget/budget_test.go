package budget_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/budget"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A thousand workers that are restarted alone fail ten times as often as a hundred. A collective restarts as one, whatever its size.
func TestTheDefaultBudgetGrowsWithReplicasThatAreRestartedAlone(t *testing.T) {
	pytorch, evaluators := builder.Framework(v1alpha1.PyTorch), builder.Evaluators(500)
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		want int32
	}{
		"a few":                 {builder.Job("j", builder.Workers(3)), 10},
		"a hundred":             {builder.Job("j", builder.Workers(100)), 10},
		"a thousand":            {builder.Job("j", builder.Workers(1000)), 100},
		"of several roles":      {builder.Job("j", builder.Workers(100), builder.Replicas("actor", 400)), 50},
		"evaluators aside":      {builder.Job("j", builder.Workers(1), evaluators), 10},
		"a collective":          {builder.Job("j", pytorch, builder.Workers(1000)), 10},
		"an elastic one":        {builder.Job("j", pytorch, builder.Workers(1000), builder.Elastic(1, 2000)), 100},
		"of scope Role":         {builder.Job("j", builder.Workers(1000, builder.Scope(v1alpha1.ScopeRole))), 10},
		"what the user says is": {builder.Job("j", builder.Workers(1000), builder.MaxRestarts(7)), 7},
	} {
		if got := budget.Limit(&c.job.Spec, v1alpha1.BudgetRestarts); got != c.want {
			t.Errorf("%s: %d restarts a day, want %d", name, got, c.want)
		}
	}
	if got := budget.Limit(&builder.Job("j", builder.Workers(1000), evaluators).Spec, v1alpha1.BudgetEvaluatorRestarts); got != 10 {
		t.Errorf("evaluators: %d restarts a day, want 10", got)
	}
}
