package budget_test

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/budget"
	"github.com/trainingjob/operator/pkg/failure"
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
	for name, want := range map[v1alpha1.BudgetName]int32{
		v1alpha1.BudgetEvaluatorRestarts: 10, v1alpha1.BudgetOOMRestarts: 3, v1alpha1.BudgetHangRestarts: 5, v1alpha1.BudgetRuleMadeLosses: 100,
	} {
		if got := budget.Limit(&builder.Job("j", builder.Workers(1000), evaluators).Spec, name); got != want {
			t.Errorf("%s: %d restarts a day, want %d", name, got, want)
		}
	}
}

// Each cause has a budget. A loss has none, unless only a rule makes it one. An evaluator must not use up the budgets of the training.
func TestTheBudgetOfAnIncident(t *testing.T) {
	of := func(role v1alpha1.Role, cause v1alpha1.Cause, charged bool) failure.Incident {
		return failure.Incident{Incident: v1alpha1.Incident{Failure: v1alpha1.Failure{Role: role, Cause: cause}, Charged: charged}}
	}
	worker := func(cause v1alpha1.Cause, charged bool) failure.Incident { return of(v1alpha1.Worker, cause, charged) }
	byRule := func(i failure.Incident) failure.Incident {
		i.RuleMade = true
		return i
	}
	joins := worker(v1alpha1.CauseRetryable, false)
	joins.Joins = &v1alpha1.Incident{}
	for name, c := range map[string]struct {
		incident failure.Incident
		want     v1alpha1.BudgetName
	}{
		"an exit":                           {worker(v1alpha1.CauseRetryable, true), v1alpha1.BudgetRestarts},
		"a start that fails":                {worker(v1alpha1.CauseStartup, true), v1alpha1.BudgetRestarts},
		"out of memory":                     {worker(v1alpha1.CauseOOM, true), v1alpha1.BudgetOOMRestarts},
		"a hang":                            {worker(v1alpha1.CauseHang, true), v1alpha1.BudgetHangRestarts},
		"a loss":                            {worker(v1alpha1.CauseInfrastructure, false), ""},
		"a preemption":                      {worker(v1alpha1.CausePreempted, false), ""},
		"a loss that only a rule makes":     {byRule(worker(v1alpha1.CauseInfrastructure, false)), v1alpha1.BudgetRuleMadeLosses},
		"a part of another incident":        {joins, ""},
		"a part of one, by a rule":          {byRule(joins), ""},
		"a requested restart":               {worker(v1alpha1.CauseRequested, false), ""},
		"a completed program":               {worker(v1alpha1.CauseCompleted, false), ""},
		"an evaluator's exit":               {of(v1alpha1.Evaluator, v1alpha1.CauseRetryable, false), v1alpha1.BudgetEvaluatorRestarts},
		"an evaluator that ran out":         {of(v1alpha1.Evaluator, v1alpha1.CauseOOM, false), v1alpha1.BudgetEvaluatorRestarts},
		"an evaluator's loss":               {of(v1alpha1.Evaluator, v1alpha1.CauseInfrastructure, false), ""},
		"an evaluator's loss by a rule":     {byRule(of(v1alpha1.Evaluator, v1alpha1.CauseInfrastructure, false)), ""},
		"an evaluator that is to run again": {of(v1alpha1.Evaluator, v1alpha1.CauseCompleted, false), ""},
	} {
		if got := budget.Of(&c.incident); got != c.want {
			t.Errorf("%s counts against %q, want %q", name, got, c.want)
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
		if got := budget.Used(s, v1alpha1.BudgetRestarts); len(got) != want {
			t.Errorf("after %v %v count, want %d", now, got, want)
		}
		if got := budget.Used(s, v1alpha1.BudgetHangRestarts); len(got) != 0 {
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
