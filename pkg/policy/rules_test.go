package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

type rule = v1alpha1.RecoveryRule

func failJob(r rule) rule {
	r.Cause = v1alpha1.CauseFatal
	return r
}

func TestRulesMatch(t *testing.T) {
	byRule := judged{Ruling: policy.Fail, Reason: v1alpha1.ReasonFailJobRule}
	exit := func(code int32) builder.SnapshotOption {
		return builder.Failed("worker", 1, builder.Exit(code), builder.Flagged("example.com/Broken"))
	}
	own := restart(0, "worker-1 Retryable Replica charged")
	cases := []struct {
		name string
		rule rule
		pod  builder.SnapshotOption
		want judged
	}{
		{"a role", rule{Roles: []v1alpha1.Role{v1alpha1.PS, v1alpha1.Worker}}, exit(3), byRule},
		{"another role", rule{Roles: []v1alpha1.Role{v1alpha1.PS}}, exit(3), own},
		{"an exit code", rule{ExitCodes: []int32{1, 3}}, exit(3), byRule},
		{"another exit code", rule{ExitCodes: []int32{1, 2}}, exit(3), own},
		{"a signal", rule{Signals: []int32{9}}, exit(137), byRule},
		{"another signal", rule{Signals: []int32{9}}, exit(143), own},
		{"no signal", rule{Signals: []int32{9}}, exit(9), own},
		{"the main container", rule{ContainerName: "main"}, exit(3), byRule},
		{"another container", rule{ContainerName: "logs"}, exit(3), own},
		{"a container of a pod that no container ended", rule{ContainerName: "main"}, builder.Failed("worker", 1, builder.Rejected("DeadlineExceeded", "")), own},
		{"a reason", rule{Reasons: []string{"Error"}}, exit(3), byRule},
		{"another reason", rule{Reasons: []string{"OOMKilled"}}, exit(3), own},
		{"a condition", rule{Conditions: []string{"example.com/Broken"}}, exit(3), byRule},
		{"another condition", rule{Conditions: []string{"DisruptionTarget"}}, exit(3), own},
		{"all matchers match", rule{Roles: []v1alpha1.Role{v1alpha1.Worker}, ExitCodes: []int32{137}, Signals: []int32{9}, Reasons: []string{"Error"},
			Conditions: []string{"example.com/Broken"}}, exit(137), byRule},
		{"all matchers but one match", rule{Roles: []v1alpha1.Role{v1alpha1.Worker}, ExitCodes: []int32{137}, Signals: []int32{9}, Reasons: []string{"Evicted"},
			Conditions: []string{"example.com/Broken"}}, exit(137), own},
		{"an exit code of a pod that no container ended", rule{ExitCodes: []int32{1}}, builder.Failed("worker", 1, builder.Rejected("DeadlineExceeded", "")), own},
		{"a condition of a pod that is gone", rule{Conditions: []string{"example.com/Broken"}}, builder.Gone("worker", 1),
			lost(0, "worker-1 Infrastructure Replica free")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := builder.Job("j", builder.Workers(2), builder.Rules(failJob(c.rule)))
			check(t, []judgeCase{{"on a worker", job, seen(builder.Running("worker", 0), c.pod), c.want}})
		})
	}
}

func TestWhatRulesSay(t *testing.T) {
	worker := rule{Roles: []v1alpha1.Role{v1alpha1.Worker}}
	as := func(cause v1alpha1.Cause, scope v1alpha1.RestartScope) rule {
		return rule{Roles: []v1alpha1.Role{v1alpha1.Worker, v1alpha1.Evaluator}, Cause: cause, Scope: scope}
	}
	base := func(rules ...rule) *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(2), builder.Evaluators(1), builder.Rules(rules...))
	}
	exit := seen(builder.Running("worker", 0), builder.Running("evaluator", 0), builder.Failed("worker", 1, builder.Exit(127)))
	evaluator := seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Failed("evaluator", 0, builder.Exit(1)))
	late := func(rules ...rule) *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(2), builder.StartedAt(0), builder.StartupDeadline(60), builder.Rules(rules...))
	}
	hangs := func(rules ...rule) *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(1), builder.RunsSince(0), builder.Progress(30, v1alpha1.StallRestart), builder.Rules(rules...))
	}
	hang := seen(builder.Running("worker", 0), builder.Read(60*second))
	byRule := judged{Ruling: policy.Fail, Reason: v1alpha1.ReasonFailJobRule}
	ruled := func(reason string, orders ...string) judged {
		return judged{Ruling: policy.Restart, Reason: reason, Restarts: orders}
	}
	check(t, []judgeCase{
		{"another cause: a fatal exit is retried", base(as(v1alpha1.CauseRetryable, "")), exit, restart(0, "worker-1 Retryable Replica charged")},
		{"another cause: an exit is a loss", base(as(v1alpha1.CauseInfrastructure, "")), exit, lost(0, "worker-1 Infrastructure Replica free")},
		{"another cause: an exit is charged to another budget", base(as(v1alpha1.CauseOOM, "")), exit,
			ruled(v1alpha1.ReasonOutOfMemory, "worker-1 OOM Replica charged")},
		{"another cause: an exit is fatal", base(rule{ExitCodes: []int32{3}, Cause: v1alpha1.CauseFatal}),
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(3))), byRule},
		{"another scope: the job follows", base(as(v1alpha1.CauseRetryable, v1alpha1.ScopeJob)), exit, restart(0, "worker-1 Retryable Job charged")},
		{"another scope: the role follows", base(as(v1alpha1.CauseRetryable, v1alpha1.ScopeRole)), exit, restart(0, "worker-1 Retryable Role charged")},
		{"a scope alone leaves the cause", base(as("", v1alpha1.ScopeJob)), exit, fatal},
		{"cause Fatal fails the job for a loss", base(as(v1alpha1.CauseFatal, "")), seen(builder.Running("worker", 0), builder.Deleted("worker", 1)), byRule},
		{"the first rule that matches wins", base(rule{ExitCodes: []int32{1}, Cause: v1alpha1.CauseFatal}, as(v1alpha1.CauseRetryable, ""),
			as(v1alpha1.CauseFatal, "")), exit, restart(0, "worker-1 Retryable Replica charged")},
		{"no rule matches", base(rule{Roles: []v1alpha1.Role{v1alpha1.PS}, Cause: v1alpha1.CauseRetryable}), exit, fatal},
		{"an evaluator's failure fails the job by a rule", base(as(v1alpha1.CauseFatal, "")), evaluator, byRule},
		{"an evaluator that a rule calls retryable is not charged to the training", base(as(v1alpha1.CauseRetryable, "")), evaluator,
			restart(0, "evaluator-0 Retryable Replica free")},
		{"cause Fatal on a job that is late", late(rule{Reasons: []string{v1alpha1.ReasonStartupDeadline}, Cause: v1alpha1.CauseFatal}), seen(builder.Pending("worker", 0)), byRule},
		{"a scope for a job that is late", late(rule{Reasons: []string{v1alpha1.ReasonStartupDeadline}, Scope: v1alpha1.ScopeReplica}),
			seen(builder.Running("worker", 0)), ruled(v1alpha1.ReasonStartupDeadline, "worker-1 Startup Replica charged")},
		{"a cause for a job that is late", late(rule{Reasons: []string{v1alpha1.ReasonStartupDeadline}, Cause: v1alpha1.CauseInfrastructure}), seen(builder.Pending("worker", 0)),
			judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonStartupDeadline, Restarts: []string{"worker-0 Infrastructure Job free"}}},
		{"cause Fatal on a job that hangs", hangs(rule{Reasons: []string{v1alpha1.ReasonProgressStalled}, Cause: v1alpha1.CauseFatal}), hang, byRule},
		{"a scope for a job that hangs", hangs(rule{Reasons: []string{v1alpha1.ReasonProgressStalled}, Scope: v1alpha1.ScopeReplica}), hang,
			ruled(v1alpha1.ReasonHang, "worker-0 Hang Replica charged")},
		{"a rule for exit codes does not apply to a job that hangs", hangs(rule{Roles: worker.Roles, ExitCodes: []int32{1}, Cause: v1alpha1.CauseFatal}), hang,
			ruled(v1alpha1.ReasonHang, "worker-0 Hang Job charged")},
	})
}

// The message names the rule that fails the job by its place in the list.
func TestARuleThatFailsTheJobIsNamed(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.Rules(rule{ExitCodes: []int32{9}, Cause: v1alpha1.CauseOOM}, rule{ExitCodes: []int32{3}, Cause: v1alpha1.CauseFatal}))
	v := policy.Judge(builder.Snapshot(job, builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(3))))
	if want := "worker-1 on node-worker-1 exited with code 3 (Error), and recovery.rules[1] fails the job."; v.Message != want {
		t.Errorf("message %q, want %q", v.Message, want)
	}
}

// A rule with more matchers never matches more, and a matcher with one more value never less.
func TestMatchersNarrowAndValuesWiden(t *testing.T) {
	codes := rapid.SliceOfNDistinct(rapid.Int32Range(1, 6), 1, 4, rapid.ID)
	reasons := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Error", "OOMKilled", "Evicted"}), 1, 2, rapid.ID)
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.Int32Range(1, 6).Draw(t, "code")
		matched := func(r rule) bool {
			r.Cause = v1alpha1.CauseFatal
			job := builder.Job("j", builder.Workers(2), builder.Rules(r))
			v := policy.Judge(builder.Snapshot(job, builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(code))))
			return v.Reason == v1alpha1.ReasonFailJobRule
		}
		wide := rule{ExitCodes: codes.Draw(t, "codes")}
		narrow := rule{ExitCodes: wide.ExitCodes, Reasons: reasons.Draw(t, "reasons")}
		wider := rule{ExitCodes: append([]int32{rapid.Int32Range(1, 6).Draw(t, "one more")}, wide.ExitCodes...)}
		if matched(narrow) && !matched(wide) || matched(wide) && !matched(wider) {
			t.Fatalf("exit code %d: %+v %t, %+v %t, %+v %t", code, narrow, matched(narrow), wide, matched(wide), wider, matched(wider))
		}
	})
}

// The exit of a side-car breaks a replica only if a rule names the side-car. No other rule applies to it.
func TestRulesForSideCars(t *testing.T) {
	aside := builder.Edit(func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "logs", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 7, Reason: "Error", FinishedAt: builder.Time(20 * second)}}})
	})
	job := func(rules ...rule) *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(2), builder.Rules(rules...))
	}
	named := rule{ContainerName: "logs", ExitCodes: []int32{7}, Cause: v1alpha1.CauseOOM}
	runs := seen(builder.Running("worker", 0), builder.Running("worker", 1, aside))
	check(t, []judgeCase{
		{"no rule", job(), runs, judged{}},
		{"a rule for its exit code that does not name it", job(failJob(rule{ExitCodes: []int32{7}})), runs, judged{}},
		{"a rule that names it", job(named), runs, judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonOutOfMemory, Restarts: []string{"worker-1 OOM Replica charged"}}},
		{"the rules for the main container are not for it", job(failJob(rule{ExitCodes: []int32{7}}), named), runs,
			judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonOutOfMemory, Restarts: []string{"worker-1 OOM Replica charged"}}},
		{"the main container failed before it", job(named), seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1), builder.At(10*second), aside)),
			restart(0, "worker-1 Retryable Replica charged")},
	})
	v := policy.Judge(builder.Snapshot(job(rule{Name: "bad-logs", ContainerName: "logs", Cause: v1alpha1.CauseFatal}), runs...))
	if want := "worker-1 on node-worker-1 failed because its container logs exited with code 7 (Error), and recovery.rules[0] (bad-logs) fails the job."; v.Message != want || v.Failure.Container != "logs" {
		t.Errorf("container %s: %q\nwant %q", v.Failure.Container, v.Message, want)
	}
}
