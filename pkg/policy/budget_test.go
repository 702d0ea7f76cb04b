package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/builder"
)

func billed(n int32) builder.JobOption {
	return builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.BilledRestarts = n })
}

func inARow(n int32) builder.JobOption {
	return builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.ConsecutiveRestarts = n })
}

func TestBudget(t *testing.T) {
	exit := seen(builder.Failed("worker", 1, builder.Exit(1)))
	whole := restart(5*second, "worker-1 Retryable Job billed")
	job := func(limit int, used int32) *v1alpha1.TrainingJob {
		return builder.Job("j", pytorch, builder.Workers(3), builder.MaxRestarts(limit), billed(used))
	}
	check(t, []judgeCase{
		{"maxRestarts 0: the first failure fails the job", job(0, 0), exit, spent},
		{"maxRestarts 1: the first failure restarts", job(1, 0), exit, whole},
		{"maxRestarts 1: the second fails the job", job(1, 1), exit, spent},
		{"maxRestarts 10: the tenth failure restarts", job(10, 9), exit, whole},
		{"maxRestarts 10: the eleventh fails the job", job(10, 10), exit, spent},
		{"a budget lowered below what is used fails the job at its next failure", job(3, 7), exit, spent},
		{"without a failure a used budget is no harm", job(0, 10), seen(builder.Running("worker", 1)), judged{}},
		{"three replicas that fail at once are billed three times",
			builder.Job("j", builder.Workers(4), builder.MaxRestarts(3)),
			seen(builder.Failed("worker", 1, builder.Exit(1)), builder.Failed("worker", 2, builder.Exit(1)), builder.Failed("worker", 3, builder.Exit(1))),
			restart(5*second, "worker-1 Retryable Replica billed", "worker-2 Retryable Replica billed", "worker-3 Retryable Replica billed")},
		{"three that fail at once with two restarts left fail the job",
			builder.Job("j", builder.Workers(4), builder.MaxRestarts(2)),
			seen(builder.Failed("worker", 1, builder.Exit(1)), builder.Failed("worker", 2, builder.Exit(1)), builder.Failed("worker", 3, builder.Exit(1))), spent},
		{"lost pods are restarted when the budget is used up",
			job(10, 10), seen(builder.Deleted("worker", 1)), lost(0, "worker-1 Infrastructure Job free")},
		{"lost pods are restarted when the budget was lowered below what is used",
			job(0, 10), seen(builder.Deleted("worker", 1)), lost(0, "worker-1 Infrastructure Job free")},
		{"three ranks of one collective are billed once", job(1, 0),
			seen(builder.Failed("worker", 0, builder.Exit(1)), builder.Failed("worker", 1, builder.Exit(1)), builder.Failed("worker", 2, builder.Exit(1))),
			restart(5*second, "worker-0 Retryable Job billed")},
	})
}

func TestEvaluators(t *testing.T) {
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(1), builder.Evaluators(2), builder.MaxRestarts(3)}, options...)...)
	}
	restarted := func(n int32) builder.JobOption {
		return builder.Remember(v1alpha1.Evaluator, v1alpha1.ReplicaStatus{Restarts: n})
	}
	running := builder.Running("worker", 0)
	check(t, []judgeCase{
		{"an evaluator's restart is not charged to the training",
			job(), seen(running, builder.Failed("evaluator", 1, builder.Exit(1))), restart(5*second, "evaluator-1 Retryable Replica free")},
		{"nor does it fail the job when the training's budget is used up",
			job(billed(3)), seen(running, builder.Failed("evaluator", 1, builder.Exit(1))), restart(5*second, "evaluator-1 Retryable Replica free")},
		{"past its own budget it is left as it failed",
			job(restarted(3)), seen(running, builder.Failed("evaluator", 1, builder.Exit(1))), judged{}},
		{"a permanent exit code leaves it as it failed",
			job(), seen(running, builder.Failed("evaluator", 1, builder.Exit(127))), judged{}},
		{"a lost evaluator is replaced beyond its budget",
			job(restarted(3)), seen(running, builder.Deleted("evaluator", 1)), lost(0, "evaluator-1 Infrastructure Replica free")},
		{"an evaluator that is left does not hide a worker's failure",
			job(), seen(builder.Failed("evaluator", 0, builder.Exit(127), builder.At(1*second)), builder.Failed("worker", 0, builder.Exit(1))),
			restart(5*second, "worker-0 Retryable Job billed")},
		{"an evaluator that is left does not keep the job from running",
			job(builder.StartedAt(0), builder.StartupDeadline(10)),
			seen(running, builder.Running("evaluator", 0), builder.Failed("evaluator", 1, builder.Exit(127))), judged{Wake: 10 * second}},
	})
}

func TestBackOffDoublesUpToItsLimit(t *testing.T) {
	cases := []struct {
		name        string
		first, most int
		want        []time.Duration // for 0, 1, 2 ... restarts in a row
	}{
		{"the default", 5, 300, []time.Duration{5, 10, 20, 40, 80, 160, 300, 300, 300}},
		{"no back-off", 0, 300, []time.Duration{0, 0, 0}},
		{"first and limit the same", 7, 7, []time.Duration{7, 7, 7}},
		{"the longest", 86400, 86400, []time.Duration{86400, 86400}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for row, seconds := range c.want {
				job := builder.Job("j", builder.Workers(2), builder.BackOff(c.first, c.most), inARow(int32(row)))
				got := judge(builder.Snapshot(job, builder.Failed("worker", 1, builder.Exit(1))))
				if got.Wait != seconds*second {
					t.Errorf("after %d restarts in a row the wait is %v, want %v", row, got.Wait, seconds*second)
				}
			}
		})
	}
}

func TestTenThousandRestartsInARowDoNotOverflowTheBackOff(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), inARow(10_000), builder.MaxRestarts(10_000))
	if got := judge(builder.Snapshot(job, builder.Failed("worker", 1, builder.Exit(1)))); got.Wait != 300*second {
		t.Errorf("the wait is %v, want 5m", got.Wait)
	}
}

func TestTheFirstLostPodIsReplacedAtOnceAndTheNextNot(t *testing.T) {
	for row, want := range []time.Duration{0, 10 * second, 20 * second} {
		job := builder.Job("j", builder.Workers(2), inARow(int32(row)))
		if got := judge(builder.Snapshot(job, builder.Deleted("worker", 1))); got.Wait != want {
			t.Errorf("after %d restarts in a row a lost pod waits %v, want %v", row, got.Wait, want)
		}
	}
}

func TestTenCalmMinutesResetTheBackOff(t *testing.T) {
	const calm = 10 * time.Minute
	next := func(d time.Duration) builder.JobOption {
		return builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.NextStartTime = builder.TimePtr(d) })
	}
	runs := func(is bool) builder.JobOption {
		return builder.Condition(v1alpha1.ConditionRunning, is, v1alpha1.ReasonAllReplicasRunning, 0)
	}
	cases := []struct {
		name string
		job  []builder.JobOption
		now  time.Duration
		want int32
	}{
		{"a second before", []builder.JobOption{runs(true)}, calm - second, 4},
		{"after them", []builder.JobOption{runs(true)}, calm, 0},
		{"a job that does not run does not calm down", []builder.JobOption{runs(false)}, 10 * calm, 4},
		{"a job that never ran does not calm down", nil, 10 * calm, 4},
		{"a replica replaced since then starts them anew", []builder.JobOption{runs(true), next(calm)}, 2*calm - second, 4},
		{"ten minutes after a replica was replaced", []builder.JobOption{runs(true), next(calm)}, 2 * calm, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", append(c.job, builder.Workers(2), inARow(4))...), builder.Now(c.now))
			if diff := cmp.Diff(c.want, policy.ConsecutiveRestarts(s)); diff != "" {
				t.Errorf("restarts in a row (-want +got):\n%s", diff)
			}
		})
	}
}

// A verdict of a snapshot is the same however often and in whatever order of pods it is asked for.
func TestJudgeIsDeterministic(t *testing.T) {
	job := builder.Job("j", builder.Workers(4), builder.PS(2))
	pods := seen(builder.Failed("worker", 1, builder.Exit(1)), builder.Failed("worker", 3, builder.Exit(1)),
		builder.Failed("worker", 2, builder.Exit(1)), builder.Running("ps", 0))
	want, _ := policy.Judge(builder.Snapshot(job, pods...))
	for range 20 {
		pods = append(pods[1:], pods[0])
		got, _ := policy.Judge(builder.Snapshot(job, pods...))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("another order, another verdict (-want +got):\n%s", diff)
		}
	}
}
