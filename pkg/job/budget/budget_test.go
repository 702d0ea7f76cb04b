package budget_test

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A thousand workers that are restarted alone fail ten times as often as a hundred. A collective restarts as one, whatever its size.
func TestTheDefaultBudgetGrowsWithReplicasThatAreRestartedAlone(t *testing.T) {
	pytorch, evaluators := builder.Framework(v1alpha1.PyTorch), builder.Evaluators(500)
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		want int32
	}{
		"a few":                  {builder.Job("j", builder.Workers(3)), 10},
		"a hundred":              {builder.Job("j", builder.Workers(100)), 10},
		"a thousand":             {builder.Job("j", builder.Workers(1000)), 100},
		"roles of its own aside": {builder.Job("j", builder.Workers(100), builder.Replicas("actor", 400)), 10},
		"evaluators aside":       {builder.Job("j", builder.Workers(1), evaluators), 10},
		"a collective":           {builder.Job("j", pytorch, builder.Workers(1000)), 10},
		"an elastic one":         {builder.Job("j", pytorch, builder.Workers(1000), builder.Elastic(1, 2000)), 100},
		"of scope Role":          {builder.Job("j", builder.Workers(1000, builder.Scope(v1alpha1.ScopeRole))), 10},
		"what the user says is":  {builder.Job("j", builder.Workers(1000), builder.MaxRestarts(7)), 7},
	} {
		if got := budget.Limit(&c.job.Spec, v1alpha1.BudgetRestarts); got != c.want {
			t.Errorf("%s: %d restarts a day, want %d", name, got, c.want)
		}
	}
	for name, want := range map[v1alpha1.BudgetName]int32{
		v1alpha1.BudgetEvaluatorRestarts: 50, v1alpha1.BudgetOOMRestarts: 3, v1alpha1.BudgetHangRestarts: 5, v1alpha1.BudgetRuleMadeLosses: 100,
	} {
		if got := budget.Limit(&builder.Job("j", builder.Workers(1000), evaluators).Spec, name); got != want {
			t.Errorf("%s: %d restarts a day, want %d", name, got, want)
		}
	}
}

// Each cause has a budget. A loss has none, unless only a rule makes it one. Evaluators and roles that the training does not
// need do not use up its budgets. A part
// of another incident counts against none.
func TestTheBudgetOfAnIncident(t *testing.T) {
	const worker, evaluator, loss = v1alpha1.Worker, v1alpha1.Evaluator, v1alpha1.CauseInfrastructure
	job := builder.Job("j", builder.Workers(1), builder.Replicas("board", 1), builder.Replicas("learner", 1, builder.Scope(v1alpha1.ScopeJob)))
	type incident struct {
		role            v1alpha1.Role
		cause           v1alpha1.Cause
		charged, byRule bool
	}
	for i, want := range map[incident]v1alpha1.BudgetName{
		{worker, v1alpha1.CauseRetryable, true, false}:     v1alpha1.BudgetRestarts,
		{worker, v1alpha1.CauseStartup, true, false}:       v1alpha1.BudgetRestarts,
		{worker, v1alpha1.CauseOOM, true, false}:           v1alpha1.BudgetOOMRestarts,
		{worker, v1alpha1.CauseHang, true, false}:          v1alpha1.BudgetHangRestarts,
		{worker, loss, false, false}:                       "",
		{worker, v1alpha1.CausePreempted, false, false}:    "",
		{worker, loss, false, true}:                        v1alpha1.BudgetRuleMadeLosses,
		{worker, v1alpha1.CauseRequested, false, false}:    "",
		{worker, v1alpha1.CauseCompleted, false, false}:    "",
		{evaluator, v1alpha1.CauseRetryable, false, false}: v1alpha1.BudgetEvaluatorRestarts,
		{"board", v1alpha1.CauseRetryable, false, false}:   v1alpha1.BudgetEvaluatorRestarts,
		{"learner", v1alpha1.CauseRetryable, true, false}:  v1alpha1.BudgetRestarts,
		{evaluator, v1alpha1.CauseOOM, false, false}:       v1alpha1.BudgetEvaluatorRestarts,
		{evaluator, loss, false, false}:                    "",
		{evaluator, loss, false, true}:                     "",
		{evaluator, v1alpha1.CauseCompleted, false, false}: "",
	} {
		own := failure.Restart{Incident: v1alpha1.Incident{Failure: v1alpha1.Failure{Role: i.role, Cause: i.cause}, Charged: i.charged}, RuleMade: i.byRule}
		if got := budget.Of(&job.Spec, &own); got != want {
			t.Errorf("%+v counts against %q, want %q", i, got, want)
		}
		own.Charged, own.Joins = false, &v1alpha1.Incident{}
		if got := budget.Of(&job.Spec, &own); got != "" {
			t.Errorf("%+v is part of another incident, and counts against %q", i, got)
		}
	}
}

// A restart counts for windowSeconds.
func TestRestartsCountWithinTheWindow(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.Recovery(func(r *v1alpha1.Recovery) { r.WindowSeconds = ptr.To[int32](3600) }),
		builder.Charged(v1alpha1.BudgetRestarts, 0, 0, 30*second, 40*second), builder.Charged(v1alpha1.BudgetOOMRestarts, 50*second))
	const hour = time.Hour
	for now, want := range map[time.Duration]int{hour - second: 4, hour: 2, hour + 30*second: 1, hour + 40*second: 0} {
		s := builder.Snapshot(job, builder.Now(now))
		if got := budget.Used(s.Job, v1alpha1.BudgetRestarts, s.Now); len(got) != want {
			t.Errorf("after %v %v count, want %d", now, got, want)
		}
		if got := budget.Used(s.Job, v1alpha1.BudgetHangRestarts, s.Now); len(got) != 0 {
			t.Errorf("%v count against a budget that was never charged", got)
		}
	}
}

func TestABudgetIsNamedByTheFieldOfItsUser(t *testing.T) {
	for name, want := range map[v1alpha1.BudgetName]string{
		v1alpha1.BudgetOOMRestarts:    "recovery.maxOOMRestarts (7)",
		v1alpha1.BudgetRuleMadeLosses: "the budget ruleMadeLosses (7 within recovery.windowSeconds, for losses that only recovery.rules call so)",
	} {
		if got := budget.Describe(name, 7); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
