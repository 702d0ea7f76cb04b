package failure_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

func failJob(r rule) rule {
	r.Cause = v1alpha1.CauseFatal
	return r
}

// failsByRule reports whether the first of recovery.rules fails the job.
func failsByRule(s *state.Snapshot) bool {
	return slices.ContainsFunc(failure.Find(s), func(i failure.Restart) bool { return i.FailedBy != nil && *i.FailedBy == 0 })
}

func TestRulesMatch(t *testing.T) {
	exit := func(code int32) builder.SnapshotOption {
		return builder.Failed("worker", 1, builder.Exit(code), builder.Flagged("example.com/Broken"))
	}
	cases := []struct {
		name string
		rule rule
		pod  builder.SnapshotOption
		want bool
	}{
		{"a role", rule{Roles: []v1alpha1.Role{v1alpha1.PS, v1alpha1.Worker}}, exit(3), true},
		{"another role", rule{Roles: []v1alpha1.Role{v1alpha1.PS}}, exit(3), false},
		{"an exit code", rule{ExitCodes: []int32{1, 3}}, exit(3), true},
		{"another exit code", rule{ExitCodes: []int32{1, 2}}, exit(3), false},
		{"a signal", rule{Signals: []int32{9}}, exit(137), true},
		{"another signal", rule{Signals: []int32{9}}, exit(143), false},
		{"no signal", rule{Signals: []int32{9}}, exit(9), false},
		{"the main container", rule{ContainerName: "main"}, exit(3), true},
		{"another container", rule{ContainerName: "logs"}, exit(3), false},
		{"the code of an init container", rule{ExitCodes: []int32{1}}, builder.Failed("worker", 1, builder.FailedInit("fetch-data", 1)), false},
		{"the signal of an init container", rule{Signals: []int32{9}}, builder.Failed("worker", 1, builder.FailedInit("fetch-data", 137)), false},
		{"the code of an init container that it names", rule{ContainerName: "fetch-data", ExitCodes: []int32{1}}, builder.Failed("worker", 1, builder.FailedInit("fetch-data", 1)), true},
		{"the reason of an init container", rule{Reasons: []string{"Error"}}, builder.Failed("worker", 1, builder.FailedInit("fetch-data", 1)), true},
		{"a container of a pod that no container ended", rule{ContainerName: "main"}, builder.Failed("worker", 1, builder.Rejected("DeadlineExceeded", "")), false},
		{"a reason", rule{Reasons: []string{"Error"}}, exit(3), true},
		{"another reason", rule{Reasons: []string{"OOMKilled"}}, exit(3), false},
		{"a condition", rule{Conditions: []string{"example.com/Broken"}}, exit(3), true},
		{"another condition", rule{Conditions: []string{"DisruptionTarget"}}, exit(3), false},
		{"all matchers match", rule{Roles: []v1alpha1.Role{v1alpha1.Worker}, ExitCodes: []int32{137}, Signals: []int32{9}, Reasons: []string{"Error"},
			Conditions: []string{"example.com/Broken"}}, exit(137), true},
		{"all matchers but one match", rule{Roles: []v1alpha1.Role{v1alpha1.Worker}, ExitCodes: []int32{137}, Signals: []int32{9}, Reasons: []string{"Evicted"},
			Conditions: []string{"example.com/Broken"}}, exit(137), false},
		{"an exit code of a pod that no container ended", rule{ExitCodes: []int32{1}}, builder.Failed("worker", 1, builder.Rejected("DeadlineExceeded", "")), false},
		{"an exit code of a pod that a drain ended", rule{ExitCodes: []int32{143}},
			builder.Deleted("worker", 1, builder.Exit(143), builder.Disrupted("EvictionByEvictionAPI", 20*second)), false},
		{"a signal of a pod that was preempted", rule{Signals: []int32{15}},
			builder.Failed("worker", 1, builder.Exit(143), builder.Disrupted("PreemptionByScheduler", 20*second)), false},
		{"the container of a pod that a user deleted", rule{ContainerName: "main"}, builder.Deleted("worker", 1, builder.Exit(1)), false},
		{"an exit code of a pod that its kubelet evicted", rule{ExitCodes: []int32{137}}, builder.Failed("worker", 1, builder.Exit(137), builder.Rejected("Evicted", "")), false},
		{"the reason of a pod that its kubelet evicted", rule{Reasons: []string{"Evicted"}}, builder.Failed("worker", 1, builder.Exit(137), builder.Rejected("Evicted", "")), true},
		{"a condition of a pod that is gone", rule{Conditions: []string{"example.com/Broken"}}, builder.Gone("worker", 1), false},
	}
	for _, c := range cases {
		job := builder.Job("j", builder.Workers(2), builder.Rules(failJob(c.rule)))
		if got := failsByRule(builder.Snapshot(job, builder.Running("worker", 0), c.pod)); got != c.want {
			t.Errorf("%s: the rule fails the job: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestRulesSetTheCauseAndTheScope(t *testing.T) {
	as := func(cause v1alpha1.Cause, scope v1alpha1.RestartScope) rule {
		return rule{Roles: []v1alpha1.Role{v1alpha1.Worker, v1alpha1.Evaluator}, Cause: cause, Scope: scope}
	}
	base := func(rules ...rule) *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(2), builder.Evaluators(1), builder.Rules(rules...))
	}
	exit := seen(builder.Running("worker", 0), builder.Running("evaluator", 0), builder.Failed("worker", 1, builder.Exit(127)))
	evaluator := seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Failed("evaluator", 0, builder.Exit(1)))
	checkRestarts(t, []restartCase{
		{"another cause: a fatal exit is retried", base(as(v1alpha1.CauseRetryable, "")), exit, "worker-1 Retryable Replica charged"},
		{"another cause: an exit is a loss", base(as(v1alpha1.CauseInfrastructure, "")), exit, "worker-1 Infrastructure Replica free by rule"},
		{"another cause: an exit is charged to another budget", base(as(v1alpha1.CauseOOM, "")), exit, "worker-1 OOM Replica charged"},
		{"another cause: an exit is fatal", base(rule{ExitCodes: []int32{3}, Cause: v1alpha1.CauseFatal}),
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(3))), "worker-1 Fatal by rule 0"},
		{"another scope: the job follows", base(as(v1alpha1.CauseRetryable, v1alpha1.ScopeJob)), exit, "worker-1 Retryable Job charged"},
		{"another scope: the role follows", base(as(v1alpha1.CauseRetryable, v1alpha1.ScopeRole)), exit, "worker-1 Retryable Role charged"},
		{"a scope alone leaves the cause", base(as("", v1alpha1.ScopeJob)), exit, "worker-1 Fatal"},
		{"cause Fatal fails the job for a loss", base(as(v1alpha1.CauseFatal, "")), seen(builder.Running("worker", 0), builder.Deleted("worker", 1)), "worker-1 Fatal by rule 0"},
		{"a loss that Kubernetes reports needs no rule", base(as(v1alpha1.CauseInfrastructure, "")), seen(builder.Running("worker", 0),
			builder.Failed("worker", 1, builder.Exit(1), builder.Disrupted("EvictionByEvictionAPI", 20*second))), "worker-1 Infrastructure Replica free"},
		{"a loss that a rule makes another loss", base(as(v1alpha1.CausePreempted, "")), seen(builder.Running("worker", 0), builder.Deleted("worker", 1)),
			"worker-1 Preempted Replica free"},
		{"the first rule that matches wins", base(rule{ExitCodes: []int32{1}, Cause: v1alpha1.CauseFatal}, as(v1alpha1.CauseRetryable, ""),
			as(v1alpha1.CauseFatal, "")), exit, "worker-1 Retryable Replica charged"},
		{"no rule matches", base(rule{Roles: []v1alpha1.Role{v1alpha1.PS}, Cause: v1alpha1.CauseRetryable}), exit, "worker-1 Fatal"},
		{"an evaluator's failure fails the job by a rule", base(as(v1alpha1.CauseFatal, "")), evaluator, "evaluator-0 Fatal by rule 0"},
		{"an evaluator that a rule calls retryable is not charged to the training", base(as(v1alpha1.CauseRetryable, "")), evaluator,
			"evaluator-0 Retryable Replica free"},
	})
}

func TestARuleIsNamedByItsPlaceAndItsName(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.Rules(rule{}, rule{Name: "bad-host"}))
	for n, want := range []string{"recovery.rules[0]", "recovery.rules[1] (bad-host)"} {
		if got := failure.RuleText(job, n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A rule with more matchers never matches more, and a matcher with one more value never less.
func TestMatchersNarrowAndValuesWiden(t *testing.T) {
	codes := rapid.SliceOfNDistinct(rapid.Int32Range(1, 6), 1, 4, rapid.ID)
	reasons := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Error", "OOMKilled", "Evicted"}), 1, 2, rapid.ID)
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.Int32Range(1, 6).Draw(t, "code")
		matched := func(r rule) bool {
			job := builder.Job("j", builder.Workers(2), builder.Rules(failJob(r)))
			return failsByRule(builder.Snapshot(job, builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(code))))
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
	checkRestarts(t, []restartCase{
		{"a rule that names it", job(named), runs, "worker-1 OOM Replica charged"},
		{"the rules for the main container are not for it", job(failJob(rule{ExitCodes: []int32{7}}), named), runs,
			"worker-1 OOM Replica charged"},
		{"the main container failed before it", job(named), seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1), builder.At(10*second), aside)),
			"worker-1 Retryable Replica charged"},
	})
	s := builder.Snapshot(job(named), runs...)
	want := "worker-1 on node-worker-1 failed because its container logs exited with code 7 (Error)"
	if f := &failure.Find(s)[0].Failure; f.Container != "logs" || failure.Describe(f) != want {
		t.Errorf("container %s: %q, want %q", f.Container, failure.Describe(f), want)
	}
}
