package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/budget"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// used charges n restarts to maxRestarts within the window.
func used(n int) builder.JobOption {
	return builder.Charged(v1alpha1.BudgetRestarts, make([]time.Duration, n)...)
}

func TestBudget(t *testing.T) {
	exit := seen(builder.Failed("worker", 1, builder.Exit(1)))
	whole := restart(0, "worker-1 Retryable Job charged")
	job := func(limit, already int) *v1alpha1.TrainingJob {
		return builder.Job("j", pytorch, builder.Workers(3), builder.MaxRestarts(limit), used(already))
	}
	check(t, []judgeCase{
		{"maxRestarts 0: the first failure fails the job", job(0, 0), exit, spent},
		{"maxRestarts 1: the first failure restarts", job(1, 0), exit, whole},
		{"maxRestarts 1: the second fails the job", job(1, 1), exit, spent},
		{"maxRestarts 10: the tenth failure restarts", job(10, 9), exit, whole},
		{"maxRestarts 10: the eleventh fails the job", job(10, 10), exit, spent},
		{"a budget lowered below what is used fails the job at its next failure", job(3, 7), exit, spent},
		{"without a failure a used budget is no harm", job(0, 10), seen(builder.Running("worker", 1)), judged{}},
		{"lost pods are restarted when the budget is used up",
			job(10, 10), seen(builder.Deleted("worker", 1)), lost(0, "worker-1 Infrastructure Job free")},
		{"lost pods are restarted when the budget was lowered below what is used",
			job(0, 10), seen(builder.Deleted("worker", 1)), lost(0, "worker-1 Infrastructure Job free")},
		{"three ranks of one collective are charged once", job(1, 0),
			seen(builder.Failed("worker", 0, builder.Exit(1)), builder.Failed("worker", 1, builder.Exit(1)), builder.Failed("worker", 2, builder.Exit(1))),
			restart(0, "worker-0 Retryable Job charged")},
	})
}

func TestBudgetsByCause(t *testing.T) {
	oom := seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", "")))
	exit := seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)))
	hour := builder.Recovery(func(r *v1alpha1.Recovery) { r.WindowSeconds = ptr.To[int32](3600) })
	base := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{builder.Workers(2), hour, builder.MaxRestarts(1)}, options...)...)
	}
	at := func(name v1alpha1.BudgetName, times ...time.Duration) builder.JobOption {
		return builder.Charged(name, times...)
	}
	soon, later := builder.Now(time.Hour-second), builder.Now(time.Hour)
	hang := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return base(append(options, builder.RunsSince(0), builder.Progress(30, v1alpha1.StallRestart))...)
	}
	outOfMemory := judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonOutOfMemory, Restarts: []string{"worker-1 OOM Replica charged"}}
	hangs := judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonHang, Restarts: []string{"worker-0 Hang Job charged"}}
	check(t, []judgeCase{
		{"the third out of memory restarts", base(at(v1alpha1.BudgetOOMRestarts, 0, 0)), oom, outOfMemory},
		{"the fourth fails the job", base(at(v1alpha1.BudgetOOMRestarts, 0, 0, 0)), oom, spent},
		{"a used budget for exits is no harm to one for memory", base(at(v1alpha1.BudgetRestarts, 0)), oom, outOfMemory},
		{"a used budget for memory is no harm to one for exits", base(at(v1alpha1.BudgetOOMRestarts, 0, 0, 0)), exit,
			restart(0, "worker-1 Retryable Replica charged")},
		{"the fifth hang restarts", hang(at(v1alpha1.BudgetHangRestarts, 0, 0, 0, 0)), seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Read(60*second)), hangs},
		{"the sixth fails the job", hang(at(v1alpha1.BudgetHangRestarts, 0, 0, 0, 0, 0)), seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Read(60*second)), spent},
		{"a start that fails is charged like an exit", base(at(v1alpha1.BudgetRestarts, 0)),
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(128, "StartError", ""))), spent},
		{"a restart within the window counts", base(at(v1alpha1.BudgetRestarts, 0)), append(exit, soon), spent},
		{"a restart as old as the window counts no longer", base(at(v1alpha1.BudgetRestarts, 0)), append(exit, later),
			restart(0, "worker-1 Retryable Replica charged")},
		{"of several only those within the window count", base(builder.MaxRestarts(2), at(v1alpha1.BudgetRestarts, 0, 0, 0, 30*second, 40*second)), append(exit, later), spent},
		{"failures of several budgets at once are charged to that of the first", base(builder.Workers(3), at(v1alpha1.BudgetOOMRestarts, 0, 0), at(v1alpha1.BudgetRestarts, 0)),
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)), builder.Failed("worker", 2, builder.ExitSaying(137, "OOMKilled", ""))),
			judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonOutOfMemory, Restarts: []string{"worker-2 OOM Replica charged", "worker-1 Retryable Replica joins"}}},
	})
}

// ruleMade records n losses of the last minute that only a rule made losses.
func ruleMade(n int) builder.JobOption {
	return builder.Charged(v1alpha1.BudgetRuleMadeLosses, make([]time.Duration, n)...)
}

func TestLossesThatOnlyARuleMakesAreBounded(t *testing.T) {
	rules := builder.Rules(rule{ExitCodes: []int32{77}, Cause: v1alpha1.CauseInfrastructure}, rule{Reasons: []string{v1alpha1.ReasonStartupDeadline}, Cause: v1alpha1.CausePreempted},
		rule{Reasons: []string{v1alpha1.ReasonDeleted}, Cause: v1alpha1.CausePreempted})
	job := func(n int, options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append(options, builder.Workers(2), rules, ruleMade(n), builder.MaxRestarts(0))...)
	}
	exit := seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(77)))
	restarts := lost(0, "worker-1 Infrastructure Replica free")
	evaluator := seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Failed("evaluator", 0, builder.Exit(77)))
	evaluated := func(restarts int32) *v1alpha1.TrainingJob {
		return job(100, builder.Evaluators(1), builder.Restarted(v1alpha1.Evaluator, restarts))
	}
	check(t, []judgeCase{
		{"the hundredth is restarted", job(99), exit, restarts},
		{"the next fails the job", job(100), exit, spent},
		{"as old as the window they count no longer", job(100), append(exit, builder.Now(86400*second)), restarts},
		{"a loss that Kubernetes reports does not count", job(100), seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1), builder.Disrupted("EvictionByEvictionAPI", 20*second))), restarts},
		{"nor one that a rule makes another loss", job(100), seen(builder.Running("worker", 0), builder.Deleted("worker", 1)),
			judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonReplicaPreempted, Restarts: []string{"worker-1 Preempted Replica free"}}},
		{"a time that ran out counts", job(100, builder.StartedAt(0), builder.StartupDeadline(30)), seen(builder.Running("worker", 0)), spent},
		{"several at once count once", builder.Job("j", builder.Workers(2), rules, ruleMade(99)), seen(builder.Failed("worker", 0, builder.Exit(77)), builder.Failed("worker", 1, builder.Exit(77))),
			lost(0, "worker-0 Infrastructure Replica free", "worker-1 Infrastructure Replica joins")},
		{"an evaluator never fails the job", evaluated(99), evaluator, lost(0, "evaluator-0 Infrastructure Replica free")},
		{"but is left as it failed after a hundred restarts", evaluated(100), evaluator, judged{}},
	})
}

func TestTheBudgetOfRuleMadeLossesIsNamed(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), ruleMade(100), builder.Rules(rule{ExitCodes: []int32{77}, Cause: v1alpha1.CauseInfrastructure}))
	v := policy.Judge(builder.Snapshot(job, builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(77))))
	want := "worker-1 on node-worker-1 was lost (Error) and the budget ruleMadeLosses (100 within recovery.windowSeconds, for losses that only recovery.rules call so) is used up."
	if diff := cmp.Diff(want, v.Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestABudgetThatIsUsedUpIsNamed(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.Charged(v1alpha1.BudgetOOMRestarts, 0, 0, 0))
	v := policy.Judge(builder.Snapshot(job, builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", ""))))
	want := "worker-1 on node-worker-1 exited with code 137 (OOMKilled) and recovery.maxOOMRestarts (3) is used up."
	if diff := cmp.Diff(want, v.Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestBudgetsAfterARestart(t *testing.T) {
	times := func(all ...time.Duration) []metav1.Time {
		var list []metav1.Time
		for _, d := range all {
			list = append(list, builder.Time(d))
		}
		return list
	}
	order := func(cause v1alpha1.Cause, charged bool) failure.Incident {
		return failure.Incident{Incident: v1alpha1.Incident{Failure: v1alpha1.Failure{Cause: cause}, Charged: charged}}
	}
	incident := func(cause v1alpha1.Cause, charged bool, at time.Duration) v1alpha1.Incident {
		return v1alpha1.Incident{Failure: v1alpha1.Failure{Cause: cause}, Charged: charged, RestartTime: builder.Time(at)}
	}
	type charged struct {
		v1alpha1.Budget
		Times []metav1.Time
	}
	of := func(name v1alpha1.BudgetName, limit int32, all ...time.Duration) charged {
		return charged{v1alpha1.Budget{Name: name, Limit: limit, Used: int32(len(all))}, times(all...)}
	}
	const restarts, oom, hang, made = v1alpha1.BudgetRestarts, v1alpha1.BudgetOOMRestarts, v1alpha1.BudgetHangRestarts, v1alpha1.BudgetRuleMadeLosses
	ruled := order(v1alpha1.CauseInfrastructure, false)
	ruled.RuleMade = true
	free := incident(v1alpha1.CauseInfrastructure, false, 20*second)
	cases := []struct {
		name   string
		was    []builder.JobOption
		amends []failure.Amendment
		orders []failure.Incident
		want   []charged
	}{
		{"a budget that was never charged is left out", nil, nil, []failure.Incident{order(v1alpha1.CauseInfrastructure, false)}, nil},
		{"each order is charged to the budget of its cause", nil, nil,
			[]failure.Incident{order(v1alpha1.CauseRetryable, true), order(v1alpha1.CauseStartup, true), order(v1alpha1.CauseOOM, true), order(v1alpha1.CauseHang, true)},
			[]charged{of(restarts, 10, 60*second, 60*second), of(oom, 3, 60*second), of(hang, 5, 60*second)}},
		{"a loss that only a rule makes counts against its own budget", nil, nil, []failure.Incident{ruled}, []charged{of(made, 100, 60*second)}},
		{"so it does if it turns out to be one", []builder.JobOption{builder.Charged(restarts, 20*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseRetryable, true, 20*second), Is: free, RuleMade: true}}, nil, []charged{of(made, 100, 20*second)}},
		{"what is older than the window goes", []builder.JobOption{builder.Charged(restarts, -86400*second, -86340*second, 10*second)}, nil,
			[]failure.Incident{order(v1alpha1.CauseRetryable, true)}, []charged{of(restarts, 10, 10*second, 60*second)}},
		{"what was charged for a loss is given back", []builder.JobOption{builder.Charged(restarts, 10*second, 20*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseRetryable, true, 20*second), Is: free}}, nil, []charged{of(restarts, 10, 10*second)}},
		{"a budget that was given back whole is left out", []builder.JobOption{builder.Charged(oom, 20*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseOOM, true, 20*second), Is: free}}, nil, nil},
		{"what was not charged is not given back", []builder.JobOption{builder.Charged(restarts, 20*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseRetryable, false, 20*second), Is: free}}, nil, []charged{of(restarts, 10, 20*second)}},
		{"what turns out to be another cause is charged there, at its time", []builder.JobOption{builder.Charged(restarts, 20*second), builder.Charged(oom, 30*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseRetryable, true, 20*second), Is: incident(v1alpha1.CauseOOM, true, 20*second)}}, nil,
			[]charged{of(oom, 3, 20*second, 30*second)}},
		{"what turns out to be an earlier exit of the same cause stays as it is", []builder.JobOption{builder.Charged(restarts, 20*second)},
			[]failure.Amendment{{Was: incident(v1alpha1.CauseRetryable, true, 20*second), Is: incident(v1alpha1.CauseRetryable, true, 20*second)}}, nil,
			[]charged{of(restarts, 10, 20*second)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", append(c.was, builder.Workers(1))...))
			charges := budget.Charge(s, c.amends, c.orders)
			var got []charged
			for i, b := range budget.Budgets(s, charges) {
				got = append(got, charged{b, charges[i].Times})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("budgets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvaluators(t *testing.T) {
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(1), builder.Evaluators(2), builder.MaxRestarts(3)}, options...)...)
	}
	restarted := func(n int32) builder.JobOption {
		return builder.Charged(v1alpha1.BudgetEvaluatorRestarts, make([]time.Duration, n)...)
	}
	running := builder.Running("worker", 0)
	check(t, []judgeCase{
		{"an evaluator's restart is not charged to the training",
			job(), seen(running, builder.Failed("evaluator", 1, builder.Exit(1))), restart(0, "evaluator-1 Retryable Replica free")},
		{"nor does it fail the job when the training's budget is used up",
			job(used(3)), seen(running, builder.Failed("evaluator", 1, builder.Exit(1))), restart(0, "evaluator-1 Retryable Replica free")},
		{"past its own budget it is left as it failed",
			job(restarted(3)), seen(running, builder.Failed("evaluator", 1, builder.Exit(1))), judged{}},
		{"losses do not count against its own budget",
			job(builder.Restarted(v1alpha1.Evaluator, 10)), seen(running, builder.Failed("evaluator", 1, builder.Exit(1))),
			restart(0, "evaluator-1 Retryable Replica free")},
		{"a permanent exit code leaves it as it failed",
			job(), seen(running, builder.Failed("evaluator", 1, builder.Exit(127))), judged{}},
		{"a lost evaluator is replaced beyond its budget",
			job(restarted(3)), seen(running, builder.Deleted("evaluator", 1)), lost(0, "evaluator-1 Infrastructure Replica free")},
		{"an evaluator that is left does not hide a worker's failure",
			job(), seen(builder.Failed("evaluator", 0, builder.Exit(127), builder.At(1*second)), builder.Failed("worker", 0, builder.Exit(1))),
			restart(0, "worker-0 Retryable Job charged")},
		{"an evaluator that is left does not keep the job from running",
			job(builder.StartedAt(0), builder.StartupDeadline(10)),
			seen(running, builder.Running("evaluator", 0), builder.Failed("evaluator", 1, builder.Exit(127))), judged{}},
	})
}
