package sim_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// books are the stories of what restarts cost, and of what shows late.
var books = slices.Concat([]scenario{
	// A restart whose charge was given back counts towards no limit.
	refundedCountsNowhere("refunded_restart_leaves_the_budget", v1alpha1.ReasonMaxRestartsExceeded, builder.MaxRestarts(1)),
	refundedCountsNowhere("refunded_restart_leaves_the_row_without_progress", v1alpha1.ReasonNoProgress,
		builder.Recovery(func(r *v1alpha1.Recovery) { r.NoProgressLimit = ptr.To[int32](1) })),
	ranked("agent_of_a_rank_that_is_killed", 137, leaderSucceeded(1, 1, 1), builder.EveryRole(builder.Policy(v1alpha1.RestartExitCode))),
	ranked("agent_of_a_rank_that_must_not_run_again", 93, failed(v1alpha1.ReasonFatalExit, 0, 0, 0)),
	ranked("agent_of_a_rank_with_a_rule", 42, failed(v1alpha1.ReasonFailJobRule, 0, 0, 0), builder.Rules(v1alpha1.RecoveryRule{ExitCodes: []int32{42}, Cause: v1alpha1.CauseFatal})),
	// What joins an incident costs nothing, so a used-up budget does not end it.
	{name: "last_restart_of_evaluators_is_of_two", want: leaderSucceeded(0, 1, 0), every: 3,
		job: []builder.JobOption{tensorflow, builder.Leader(v1alpha1.Chief), builder.Workers(2), builder.Evaluators(2), builder.MaxRestarts(1)},
		play: func(r *run) {
			r.running()
			r.ExitUnseen(r.pod("evaluator-1"), 1, "", "", 4*time.Second)
			r.exit(1, "evaluator-0")
			r.until("the first runs again", func() bool { return r.isUp("j-evaluator-0-a0r1") })
			if r.isUndisturbed() { // else the second end may be seen more than 10 s later, and be no part of the first
				r.until("both run again", func() bool { return r.isUp("j-evaluator-1-a0r1") })
			}
			r.wait(20 * time.Second)
			r.exit(1, "evaluator-0")
			r.until("it is given up", func() bool { return r.Job().Status.Memory.Roles[v1alpha1.Evaluator].GivenUp != "" })
			r.exit(0, "chief-0")
			r.phase(v1alpha1.PhaseSucceeded)
		}},
	{name: "budgets_show_the_use_of_their_window", job: []builder.JobOption{builder.Workers(3), within2Minutes}, want: leaderSucceeded(0, 4, 4), every: 5,
		play: func(r *run) {
			r.running()
			for _, end := range []func(*corev1.Pod){r.OutOfMemory, r.breakWith(1), r.breakWith(1), r.OutOfMemory} {
				n := r.Job().Status.Restarts
				end(r.pod("worker-1"))
				r.restarted(n + 1)
				r.running()
				r.wait(20 * time.Second)
			}
			for range 10 {
				r.showsUse(2 * time.Minute)
				r.wait(20 * time.Second)
			}
			r.succeed("worker-0")
		}},
	{name: "startup_probe_ends_what_was_ready", job: []builder.JobOption{builder.Workers(2, probed)}, want: leaderSucceeded(0, 1, 1), every: 3,
		play: func(r *run) {
			r.running()
			r.exit(143, "worker-1")
			r.restarted(1)
			if i := &r.Job().Status.Incidents[0]; i.Cause != v1alpha1.CauseRetryable {
				r.check.Violate("23 a verdict is true: a worker was ready, and its end by SIGTERM counts as %s", i.Cause)
			}
			r.succeed("worker-0")
		}},
	// The other node was unhealthy before, and its rank ran on: it explains nothing.
	{name: "another_node_is_ill_for_long", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 1), every: 3,
		play: func(r *run) {
			r.running()
			r.ReportUnhealthy(r.pod("worker-0").Spec.NodeName, operator.Breaks)
			r.wait(20 * time.Second)
			r.exit(1, "worker-1")
			r.restarted(1)
			r.succeed("worker-0")
		}},
	// Two workers were replaced long before, as one incident that names the first. The logs of both stay.
	{name: "replaced_before_the_parameter_server_ends", want: leaderSucceeded(1, 2, 2), every: 3,
		job: []builder.JobOption{tensorflow, builder.Leader(v1alpha1.Chief), builder.PS(1), builder.Workers(3)},
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1", "worker-2")
			r.restarted(1)
			r.running()
			r.wait(20 * time.Second)
			r.exit(137, "ps-0")
			r.until("the job restarts", func() bool { return r.Job().Status.Attempt == 1 })
			r.running()
			if !r.isLiedTo() { // else the pod of worker-2 may outlast its successor undeleted, and is named
				r.named("ps-0", v1alpha1.CauseRetryable)
			}
			r.succeed("chief-0")
		}},
}, lates())

// late is an end of worker-1 that shows after the restart for worker-2, and what it makes of the incident. The end of worker-2 follows so much later.
type late struct {
	name  string
	words string
	why   string
	code  int32
	later time.Duration
	first int32
	want  string
	cause v1alpha1.Cause
	use   v1alpha1.BudgetName
}

// ranked has a rank end with the code under an agent of torchrun, which exits with 1. The code of the rank decides.
func ranked(name string, code int32, want outcome, options ...builder.JobOption) scenario {
	return scenario{name: name, job: append([]builder.JobOption{pytorch, builder.Workers(2)}, options...), want: want, every: 3,
		before: func(r *run) { r.Habits.Agents = world.AgentsWithoutFiles }, play: func(r *run) {
			r.running()
			r.exit(code, "worker-1")
			if want.Phase == v1alpha1.PhaseFailed {
				r.phase(want.Phase)
				return
			}
			r.restarted(1)
			r.succeed("worker-0")
		}}
}

// lates are the stories of ends that their kubelets report after the restart: if another rank was first, it is named, and its budget pays.
func lates() (list []scenario) {
	for _, l := range []late{
		{name: "no_memory", code: 137, why: "OOMKilled", first: 137, want: "worker-1", cause: v1alpha1.CauseOOM, use: v1alpha1.BudgetOOMRestarts},
		{name: "no_memory_long_before", code: 137, why: "OOMKilled", later: 2 * time.Second, first: 137, want: "worker-1", cause: v1alpha1.CauseOOM, use: v1alpha1.BudgetOOMRestarts},
		{name: "exception", code: 1, words: "ValueError: no data", later: time.Second, first: 1, want: "worker-1", cause: v1alpha1.CauseRetryable, use: v1alpha1.BudgetRestarts},
		{name: "loss_by_a_rule", code: 77, later: time.Second, first: 1, want: "worker-1", cause: v1alpha1.CauseInfrastructure, use: v1alpha1.BudgetRuleMadeLosses},
		{name: "lost_peer", code: 1, words: "Broken pipe", first: 137, want: "worker-2", cause: v1alpha1.CauseRetryable, use: v1alpha1.BudgetRestarts},
	} {
		charged, every := int32(1), 3
		if l.use == v1alpha1.BudgetRuleMadeLosses {
			charged, every = 0, 997 // worker-2 pays otherwise
		}
		list = append(list, scenario{name: "shows_after_the_restart_" + l.name, want: leaderSucceeded(1, 1, charged), every: every,
			job: []builder.JobOption{pytorch, builder.Workers(3), builder.Rules(v1alpha1.RecoveryRule{ExitCodes: []int32{77}, Cause: v1alpha1.CauseInfrastructure})},
			play: func(r *run) {
				r.running()
				r.Deaf["j-worker-1"] = true
				r.ExitUnseen(r.pod("worker-1"), l.code, l.why, l.words, 4*time.Second)
				r.wait(l.later)
				r.Exit(r.pod("worker-2"), l.first, "Connection closed by peer [10.0.0.3]:2993")
				r.restarted(1)
				r.wait(20 * time.Second)
				delete(r.Deaf, "j-worker-1")
				r.running()
				if r.isUndisturbed() { // else it may show more than 10 s after the end, and counts from then
					r.named(l.want, l.cause)
					r.paidOnce(l.use)
				}
				r.succeed("worker-0")
			}})
	}
	return list
}

// named asks which replica the latest incident names, and for which cause.
func (r *run) named(slot string, cause v1alpha1.Cause) {
	if i := &r.Job().Status.Incidents[0]; slotName(i.Role, int(i.Index)) != slot || i.Cause != cause {
		r.check.Violate("23 a verdict is true: the incident names %s-%d for %s, not %s for %s", i.Role, i.Index, i.Cause, slot, cause)
	}
}

// paidOnce asks that one budget alone shows one charge.
func (r *run) paidOnce(budget v1alpha1.BudgetName) {
	if b := r.Job().Status.Budgets; len(b) != 1 || b[0].Name != budget || b[0].Used != 1 {
		r.check.Violate("9 charge: the budgets are %+v, and %s was to pay once", b, budget)
	}
}

// isUndisturbed reports whether nothing goes wrong with the operators.
func (r *run) isUndisturbed() bool {
	_, undisturbed := r.faults.(nothing)
	return undisturbed
}

// refundedCountsNowhere has a job fail once more than its limit of one allows, but for a first restart that an unhealthy node explains afterwards.
func refundedCountsNowhere(name, reason string, limit builder.JobOption) scenario {
	return scenario{name: name, job: []builder.JobOption{pytorch, builder.Workers(2), builder.Page(9500, 600, v1alpha1.StallRestart), limit},
		want: failed(reason, 2, 2, 1), every: 3, play: func(r *run) {
			r.running()
			r.ReportByPage(7, false)
			r.until("the step is known", func() bool { return r.Job().Status.Progress != nil && r.Job().Status.Progress.Step == 7 })
			node := r.pod("worker-1").Spec.NodeName
			r.exit(1, "worker-1")
			r.restarted(1)
			r.ReportUnhealthy(node, operator.Breaks)
			r.until("the charge is given back", func() bool { return r.Job().Status.ChargedRestarts == 0 })
			r.running()
			r.wait(20 * time.Second)
			r.exit(1, "worker-1")
			r.restarted(2)
			r.running()
			r.wait(20 * time.Second)
			r.exit(1, "worker-1")
			r.phase(v1alpha1.PhaseFailed)
		}}
}

// isUp reports whether the pod of that name runs, and nothing has requested its end.
func (r *run) isUp(name string) bool {
	return slices.ContainsFunc(r.Pods(), func(pod *corev1.Pod) bool {
		return pod.Name == name && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
	})
}

// within2Minutes has charges count for two minutes.
var within2Minutes = builder.Recovery(func(r *v1alpha1.Recovery) { r.WindowSeconds = ptr.To[int32](120) })

// breakWith ends a pod's process with the code.
func (r *run) breakWith(code int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { r.Exit(pod, code, "") }
}

// showsUse asks that the budgets show the charges of the window; some time after it ends a charge may show still.
func (r *run) showsUse(window time.Duration) {
	const slack = 15 * time.Second
	for _, b := range r.Job().Status.Budgets {
		var most int32
		for _, i := range r.Job().Status.Incidents {
			isIts := (i.Cause == v1alpha1.CauseOOM) == (b.Name == v1alpha1.BudgetOOMRestarts)
			if i.Charged && isIts && r.Clock.Since(i.RestartTime.Time) < window+slack {
				most++
			}
		}
		if b.Used > most {
			r.check.Violate("9 charge: %s shows %d charges, and %d are of the last %v", b.Name, b.Used, most, window)
		}
	}
}

// probed is a role whose program has time to start.
var probed = builder.Main(func(c *corev1.Container) { c.StartupProbe = &corev1.Probe{PeriodSeconds: 10} })
