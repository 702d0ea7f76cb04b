package policy_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

const node1 = "node-worker-1" // the node of worker-1

type rule = v1alpha1.RecoveryRule

// What broke, its cause and its scope are proven in pkg/job/failure. Here each cause gets its verdict.
func TestFailed(t *testing.T) {
	job, pair := builder.Job("j", builder.Workers(2)), builder.Job("j", pytorch, builder.Workers(2))
	beside := func(worker1 builder.SnapshotOption) []builder.SnapshotOption {
		return seen(builder.Running("worker", 0), worker1)
	}
	restarts := func(reason, order string) judged {
		return judged{Ruling: policy.Restart, Reason: reason, Restarts: []string{order}}
	}
	past := builder.Job("j", pytorch, builder.Workers(3), builder.Attempt(1), builder.Incidents(v1alpha1.Incident{Scope: v1alpha1.ScopeJob, Charged: true,
		Failure:     v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Pod: "j-worker-0", Time: builder.Time(30 * second)},
		RestartTime: builder.Time(32 * second)}))
	check(t, []judgeCase{
		{"an exit", job, beside(builder.Failed("worker", 1, builder.Exit(1))), restart(0, "worker-1 Retryable Replica charged")},
		{"a rank's exit", pair, beside(builder.Failed("worker", 1, builder.Exit(1))), restart(0, "worker-1 Retryable Job charged")},
		{"a loss", job, beside(builder.Deleted("worker", 1)), lost(0, "worker-1 Infrastructure Replica free")},
		{"a preemption", job, beside(builder.Deleted("worker", 1, builder.Disrupted("PreemptionByScheduler", 29*second))),
			restarts(v1alpha1.ReasonReplicaPreempted, "worker-1 Preempted Replica free")},
		{"out of memory", job, beside(builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", ""))),
			restarts(v1alpha1.ReasonOutOfMemory, "worker-1 OOM Replica charged")},
		{"a start that fails", job, beside(builder.Failed("worker", 1, builder.ExitSaying(128, "StartError", ""))),
			restarts(v1alpha1.ReasonStartupFailed, "worker-1 Startup Replica charged")},
		{"a permanent exit code", job, beside(builder.Failed("worker", 1, builder.Exit(127))), fatal},
		{"a permanent exit code beside one that a restart can mend", job,
			seen(builder.Failed("worker", 0, builder.Exit(1)), builder.Failed("worker", 1, builder.Exit(126), builder.At(32*second))), fatal},
		{"a permanent exit code of before a restart that shows only now", past,
			seen(builder.Failed("worker", 2, builder.Life(0, 0), builder.Exit(127), builder.At(20*second))), fatal},
		{"an evaluator's failure, which a rule makes fatal", builder.Job("j", builder.Workers(1), builder.Evaluators(1), builder.Rules(rule{Cause: v1alpha1.CauseFatal})),
			seen(builder.Running("worker", 0), builder.Failed("evaluator", 0, builder.Exit(1))), byRule},
	})
}

var byRule = judged{Ruling: policy.Fail, Reason: v1alpha1.ReasonFailJobRule}

// recovery.rules apply to deadlines as well, by the reason of the failure.
func TestRulesForDeadlines(t *testing.T) {
	late := func(r rule) *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(2), builder.StartedAt(0), builder.StartupDeadline(60), builder.Rules(r))
	}
	hangs := func(r rule) *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(1), builder.RunsSince(0), builder.Progress(30, v1alpha1.StallRestart), builder.Rules(r))
	}
	because := func(reason string, cause v1alpha1.Cause, scope v1alpha1.RestartScope) rule {
		return rule{Reasons: []string{reason}, Cause: cause, Scope: scope}
	}
	hang := seen(builder.Running("worker", 0), builder.Read(60*second))
	ruled := func(reason, order string) judged {
		return judged{Ruling: policy.Restart, Reason: reason, Restarts: []string{order}}
	}
	check(t, []judgeCase{
		{"cause Fatal on a job that is late", late(because(v1alpha1.ReasonStartupDeadline, v1alpha1.CauseFatal, "")), seen(builder.Pending("worker", 0)), byRule},
		{"a scope does not apply to a job that is late: the deadline of the attempt would pass again at once", late(because(v1alpha1.ReasonStartupDeadline, "", v1alpha1.ScopeReplica)),
			seen(builder.Running("worker", 0)), ruled(v1alpha1.ReasonStartupDeadline, "worker-1 Startup Job charged")},
		{"a cause for a job that is late", late(because(v1alpha1.ReasonStartupDeadline, v1alpha1.CauseInfrastructure, "")), seen(builder.Pending("worker", 0)),
			ruled(v1alpha1.ReasonStartupDeadline, "worker-0 Infrastructure Job free")},
		{"cause Fatal on a job that hangs", hangs(because(v1alpha1.ReasonProgressStalled, v1alpha1.CauseFatal, "")), hang, byRule},
		{"a scope for a job that hangs", hangs(because(v1alpha1.ReasonProgressStalled, "", v1alpha1.ScopeReplica)), hang,
			ruled(v1alpha1.ReasonHang, "worker-0 Hang Replica charged")},
		{"a rule for exit codes does not apply to a job that hangs", hangs(rule{Roles: []v1alpha1.Role{v1alpha1.Worker}, ExitCodes: []int32{1}, Cause: v1alpha1.CauseFatal}), hang,
			ruled(v1alpha1.ReasonHang, "worker-0 Hang Job charged")},
	})
}

func TestTheMessageShowsTheFailureAndWhatFollows(t *testing.T) {
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append(options, builder.Workers(2))...)
	}
	exit := func(index int, code int32) builder.SnapshotOption {
		return builder.Failed("worker", index, builder.Exit(code))
	}
	oom := builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", "killed"))
	for _, c := range []struct {
		job  *v1alpha1.TrainingJob
		seen []builder.SnapshotOption
		want string
	}{
		{job(pytorch), seen(oom),
			"worker-1 on node-worker-1 exited with code 137 (OOMKilled): the whole job restarts as attempt 1, 1 more follows, restart 1 of 3. The last line before the kill: killed"},
		{job(pytorch), seen(builder.Gone("worker", 0)),
			"worker-0 was lost (Vanished: its pod is gone without a trace): the whole job restarts as attempt 1, 1 more follows, not charged."},
		{job(pytorch), seen(builder.Gone("worker", 0), builder.Failed("worker", 1, builder.Exit(42), builder.At(10*second))),
			"worker-0 was lost (Vanished: its pod is gone without a trace): the whole job restarts as attempt 1, 1 more follows, not charged."},
		{job(pytorch), seen(exit(0, 1), exit(1, 1)), "worker-0 on node-worker-0 exited with code 1 (Error), and 1 more did in the same second: " +
			"the whole job restarts as attempt 1, 1 more follows, restart 1 of 10. Beside it ended worker-1: which was first does not show, and the logs of all are kept."},
		{job(builder.Rules(rule{ExitCodes: []int32{42}, Scope: v1alpha1.ScopeRole})), seen(exit(0, 42), exit(1, 1)),
			"worker-0 on node-worker-0 exited with code 42 (Error): all replicas of role Worker restart, 1 more follows, restart 1 of 10."},
		{job(), seen(exit(0, 1), exit(1, 1)), "worker-0 on node-worker-0 exited with code 1 (Error), and 1 more did in the same second: " +
			"this replica is replaced, and 1 more with it, restart 1 of 10."},
		{job(builder.Charged(v1alpha1.BudgetOOMRestarts, 0, 0, 0)), seen(oom),
			"worker-1 on node-worker-1 exited with code 137 (OOMKilled) and recovery.maxOOMRestarts (3) is used up. The last line before the kill: killed"},
		{job(builder.Rules(rule{ExitCodes: []int32{9}, Cause: v1alpha1.CauseOOM}, rule{Name: "bad-code", ExitCodes: []int32{3}, Cause: v1alpha1.CauseFatal})),
			seen(exit(1, 3)), "worker-1 on node-worker-1 exited with code 3 (Error), and recovery.rules[1] (bad-code) fails the job."},
		{job(), seen(exit(1, 127)), "worker-1 on node-worker-1 exited with code 127 (Error), which is permanent under restartPolicy OnFailure."},
		{job(builder.Of(v1alpha1.Worker, builder.Policy(v1alpha1.RestartNever))), seen(exit(1, 1)),
			"worker-1 on node-worker-1 exited with code 1 (Error), which restartPolicy Never does not restart."},
	} {
		if got := policy.Judge(builder.Snapshot(c.job, c.seen...)).Message; got != c.want {
			t.Errorf("message %q, want %q", got, c.want)
		}
	}
}

// The incident counts all replicas that restart with it, whether they ended or not.
func TestARoleThatJoinsIsCountedWhole(t *testing.T) {
	ofTheRole := builder.Rules(rule{ExitCodes: []int32{42}, Scope: v1alpha1.ScopeRole})
	job := builder.Job("j", builder.Workers(3), builder.Leader(v1alpha1.Master), builder.AnyWorker(), ofTheRole, builder.RunsSince(0))
	got := policy.Judge(builder.Snapshot(job, builder.Failed("master", 0, builder.Exit(1), builder.At(28*second)),
		builder.Failed("worker", 0, builder.Exit(42), builder.At(29*second)), builder.Running("worker", 1), builder.Running("worker", 2), builder.Now(30*second)))
	if len(got.Restarts) != 2 || got.Restarts[0].Followers != 3 || got.Accounts.Incidents[0].Followers != 3 {
		t.Errorf("%+v, want an incident with 3 followers", got.Restarts)
	}
}

func TestNodesInTrouble(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2))
	running := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	unhealthy := func(node string) builder.SnapshotOption {
		return builder.NodeUnhealthy(node, "GpuMemWatch", "[79] fell off the bus", 20*second)
	}
	check(t, []judgeCase{
		{"a node that is not ready counts as lost only after a while, and is looked at again then", job,
			append(running, builder.NodeLost(node1, 50*second)), judged{Wake: 65 * second}},
		{"a condition of its own may be a false alarm, and its owner drains it", job, append(running, unhealthy(node1)), judged{}},
		{"a condition of another node", job, append(running, unhealthy("elsewhere")), judged{}},
		{"it is lost at that moment", job, append(running, builder.NodeLost(node1, 45*second)), lost(0, "worker-1 Infrastructure Job free")},
		{"of two nodes in trouble the next one sets the time", job,
			append(running, builder.NodeLost(node1, 55*second), builder.NodeLost("node-worker-0", 50*second)), judged{Wake: 65 * second}},
	})
}
