package policy_test

import (
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// used charges n restarts to a budget within the window.
func used(name v1alpha1.BudgetName, n int) builder.JobOption {
	return builder.Charged(name, make([]time.Duration, n)...)
}

func TestBudget(t *testing.T) {
	exit := seen(builder.Failed("worker", 1, builder.Exit(1)))
	both := seen(builder.Failed("worker", 0, builder.Exit(1)), builder.Failed("worker", 1, builder.Exit(1)))
	whole := restart(0, "worker-1 Retryable Job charged")
	job := func(limit, already int) *v1alpha1.TrainingJob {
		return builder.Job("j", pytorch, builder.Workers(3), builder.MaxRestarts(limit), used(v1alpha1.BudgetRestarts, already))
	}
	server := func(at time.Duration) *v1alpha1.TrainingJob {
		worker := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Pod: "j-worker-0", Cause: v1alpha1.CauseRetryable, Reason: "Error"},
			Scope: v1alpha1.ScopeReplica, Charged: true, RestartTime: builder.Time(at)}
		return builder.Job("j", tensorflow, builder.PS(1), builder.Workers(2), builder.RunsSince(0), builder.MaxRestarts(1), builder.Incidents(worker),
			builder.Charged(v1alpha1.BudgetRestarts, at))
	}
	oom := seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", "")))
	memory := func(n int) *v1alpha1.TrainingJob {
		return builder.Job("j", pytorch, builder.Workers(2), builder.MaxRestarts(1), used(v1alpha1.BudgetRestarts, 1), used(v1alpha1.BudgetOOMRestarts, n))
	}
	outOfMemory := func(restarts ...string) judged {
		return judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonOutOfMemory, Restarts: restarts}
	}
	check(t, []judgeCase{
		{"maxRestarts 0: the first failure fails the job", job(0, 0), exit, spent},
		{"maxRestarts 1: the first failure restarts", job(1, 0), exit, whole},
		{"maxRestarts 1: the second fails the job", job(1, 1), exit, spent},
		{"a budget lowered below what is used fails the job at its next failure", job(3, 7), exit, spent},
		{"without a failure a used budget is no harm", job(0, 10), seen(builder.Running("worker", 1)), judged{}},
		{"lost pods are restarted when the budget is used up",
			job(10, 10), seen(builder.Deleted("worker", 1)), lost(0, "worker-1 Infrastructure Job free")},
		{"each cause has a budget of its own: the third out of memory restarts", memory(2), oom, outOfMemory("worker-1 OOM Job charged")},
		{"and the fourth fails the job", memory(3), oom, spent},
		{"but an exit does not", builder.Job("j", pytorch, builder.Workers(2), used(v1alpha1.BudgetOOMRestarts, 3)), exit, whole},
		{"a fault that ends two replicas uses up one restart", builder.Job("j", builder.Workers(2), builder.MaxRestarts(1)), both,
			restart(0, "worker-0 Retryable Replica charged", "worker-1 Retryable Replica joins")},
		{"and fails the job if none is left", builder.Job("j", builder.Workers(2), builder.MaxRestarts(0)), both, spent},
		{"a parameter server that ends seconds after a worker takes that restart over", server(57 * second), seen(builder.Failed("ps", 0, builder.Exit(1))),
			restart(0, "ps-0 Retryable Job charged")},
		{"and one that ends later needs one of its own", server(30 * second), seen(builder.Failed("ps", 0, builder.Exit(1))), spent},
		{"failures of several budgets at once are charged to the budget of the first",
			builder.Job("j", builder.Workers(3), builder.MaxRestarts(1), used(v1alpha1.BudgetRestarts, 1), used(v1alpha1.BudgetOOMRestarts, 2)),
			append(oom, builder.Failed("worker", 2, builder.Exit(1))), outOfMemory("worker-1 OOM Replica charged", "worker-2 Retryable Replica joins")},
	})
}

func TestLossesThatOnlyARuleMakesAreBounded(t *testing.T) {
	rules := builder.Rules(rule{ExitCodes: []int32{77}, Cause: v1alpha1.CauseInfrastructure},
		rule{Reasons: []string{v1alpha1.ReasonStartupDeadline}, Cause: v1alpha1.CausePreempted})
	job := func(n int, options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append(options, builder.Workers(2), rules, used(v1alpha1.BudgetRuleMadeLosses, n), builder.MaxRestarts(0))...)
	}
	exit := seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(77)))
	restarts := lost(0, "worker-1 Infrastructure Replica free")
	evaluator := seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Failed("evaluator", 0, builder.Exit(77)))
	check(t, []judgeCase{
		{"the hundredth is restarted", job(99), exit, restarts},
		{"the next fails the job", job(100), exit, spent},
		{"a time that ran out counts", job(100, builder.StartedAt(0), builder.StartupDeadline(30)), seen(builder.Running("worker", 0)), spent},
		{"an evaluator never fails the job: its back-off is enough", job(100, builder.Evaluators(1), builder.Restarted(v1alpha1.Evaluator, 200)), evaluator,
			lost(0, "evaluator-0 Infrastructure Replica free")},
	})
}

func TestEvaluators(t *testing.T) {
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(1), builder.Evaluators(2), builder.MaxRestarts(3)}, options...)...)
	}
	running := builder.Running("worker", 0)
	check(t, []judgeCase{
		{"an evaluator restarts although the budget of the training is used up, and without a charge",
			job(used(v1alpha1.BudgetRestarts, 3)), seen(running, builder.Failed("evaluator", 1, builder.Exit(1))), restart(0, "evaluator-1 Retryable Replica free")},
		{"past its own budget it is left as it failed",
			job(used(v1alpha1.BudgetEvaluatorRestarts, 3)), seen(running, builder.Failed("evaluator", 1, builder.Exit(1))), judged{}},
		{"losses do not count against its own budget",
			job(builder.Restarted(v1alpha1.Evaluator, 10)), seen(running, builder.Failed("evaluator", 1, builder.Exit(1))),
			restart(0, "evaluator-1 Retryable Replica free")},
		{"a permanent exit code leaves it as it failed", job(), seen(running, builder.Failed("evaluator", 1, builder.Exit(127))), judged{}},
		{"a lost evaluator is replaced beyond its budget",
			job(used(v1alpha1.BudgetEvaluatorRestarts, 3)), seen(running, builder.Deleted("evaluator", 1)), lost(0, "evaluator-1 Infrastructure Replica free")},
		{"an evaluator that is left does not hide a worker's failure",
			job(), seen(builder.Failed("evaluator", 0, builder.Exit(127), builder.At(1*second)), builder.Failed("worker", 0, builder.Exit(1))),
			restart(0, "worker-0 Retryable Job charged")},
		{"an evaluator that is left does not keep the job from running", job(builder.StartedAt(0), builder.StartupDeadline(10)),
			seen(running, builder.Running("evaluator", 0), builder.Failed("evaluator", 1, builder.Exit(127))), judged{}},
	})
}

// The limit of evaluatorRestarts, 3 here, is used up.
func TestAnEvaluatorThatEndsWithAnotherIsPartOfItsIncident(t *testing.T) {
	evaluator := func(at time.Duration) v1alpha1.Incident {
		return v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Evaluator, Cause: v1alpha1.CauseRetryable, Pod: "j-evaluator-0", Time: builder.Time(at)},
			Scope: v1alpha1.ScopeReplica, RestartTime: builder.Time(at)}
	}
	job := func(known v1alpha1.Incident) *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(1), builder.Evaluators(2), builder.MaxRestarts(3), builder.RunsSince(0), builder.Incidents(known),
			builder.Charged(v1alpha1.BudgetEvaluatorRestarts, 1*second, 2*second, 27*second))
	}
	ends := func(code int32) []builder.SnapshotOption {
		return seen(builder.Running("worker", 0), builder.Failed("evaluator", 1, builder.Exit(code), builder.At(30*second)), builder.Now(30*second))
	}
	check(t, []judgeCase{
		{"it is replaced beyond the budget", job(evaluator(27 * second)), ends(1), restart(0, "evaluator-1 Retryable Replica joins")},
		{"it is left after another incident", job(evaluator(19 * second)), ends(1), judged{}},
		{"it is left after a fatal exit", job(evaluator(27 * second)), ends(127), judged{}},
	})
}

// A pod that restarts in place fails in several attempts under one name. Late evidence about an earlier one leaves the latest failure as it is.
func TestLateEvidenceOfAnEarlierAttemptLeavesTheLatestFailure(t *testing.T) {
	of := func(attempt int32, at time.Duration) v1alpha1.Incident {
		return v1alpha1.Incident{Scope: v1alpha1.ScopeJob, Charged: true, RestartTime: builder.Time(at + second), Failure: v1alpha1.Failure{
			Role: v1alpha1.Worker, Attempt: attempt, Cause: v1alpha1.CauseRetryable, Reason: "Error", Pod: "j-worker-0", Node: "node-worker-0", Time: builder.Time(at)}}
	}
	latest := of(1, 40*second)
	job := builder.Job("j", pytorch, builder.Workers(3), builder.StartedAt(0), builder.Attempt(2), builder.Incidents(latest, of(0, 30*second)),
		builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.LastFailure = &latest.Failure }))
	v := policy.Judge(builder.Snapshot(job, builder.Now(50*second), builder.Running("worker", 2, builder.Life(0, 0), builder.On("n")), builder.NodeLost("n", 28*second)))
	if got := v.Accounts; len(got.Incidents) != 2 || got.Incidents[1].Pod != "j-worker-2" {
		t.Fatalf("the lost node explains nothing: %+v", got.Incidents)
	}
	if f := v.Accounts.LastFailure; f == nil || f.Pod != "j-worker-0" || f.Attempt != 1 {
		t.Errorf("the latest failure is %+v, want that of j-worker-0 in attempt 1", f)
	}
}
