package sim_test

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// withEvaluator is a job beside which an evaluator looks on.
var withEvaluator = []builder.JobOption{tensorflow, builder.Leader(v1alpha1.Chief), builder.Workers(2), builder.Evaluators(1)}

// worlds are the stories of what kubelets, nodes and clusters do that is not a job's fault.
var worlds = []scenario{
	{name: "startup_deadline_runs_not_while_pods_end", job: []builder.JobOption{pytorch, builder.Workers(2), builder.StartupDeadline(20)},
		want: leaderSucceeded(1, 1, 1), before: func(r *run) { r.Deaf["j-worker-0"] = true }, every: 3,
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.wait(70 * time.Second)
			r.Deaf["j-worker-0"] = false
			r.succeed("worker-0")
		}},
	{name: "evaluator_image_never_pulled", job: append(slices.Clone(withEvaluator), builder.StartupDeadline(20)), want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.NoImage["j-evaluator-0"] = true }, every: 3, play: func(r *run) { r.goesOn(2 * time.Minute) }},
	{name: "evaluator_fits_nowhere", job: append(slices.Clone(withEvaluator), builder.StartupDeadline(20), builder.SchedulingTimeout(30)),
		want: leaderSucceeded(0, 0, 0), before: func(r *run) { r.Homeless["j-evaluator-0"] = true }, every: 3,
		play: func(r *run) { r.goesOn(2 * time.Minute) }},
	{name: "gated_after_a_resumption", job: []builder.JobOption{pytorch, builder.Workers(2), builder.SchedulingTimeout(30)}, want: failed(v1alpha1.ReasonSchedulingTimeout, 0, 0, 0),
		play: func(r *run) {
			r.running()
			worker := r.pod("worker-1")
			r.Suspend(true)
			r.phase(v1alpha1.PhaseSuspended)
			r.Server.Admit = onCreate(worker, gate)
			r.Suspend(false)
			r.phase(v1alpha1.PhaseFailed)
		}},
	// lws#725: peers that restart again and again end the attempt of a member that still pulls its image.
	{name: "restart_waits_for_a_late_image", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 1), every: 2,
		before: func(r *run) { r.NoImage["j-worker-0"] = true }, play: func(r *run) {
			r.until("worker-0 has a node", func() bool { return r.pod("worker-0") != nil && r.pod("worker-0").Spec.NodeName != "" })
			r.exit(1, "worker-1")
			r.until("the restart is held", func() bool { return r.Job().Status.Reason == v1alpha1.ReasonRestartHeld })
			r.wait(30 * time.Second)
			r.isCounted(0)
			delete(r.NoImage, "j-worker-0")
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "elastic_begins_with_its_leader_and_without_one_that_fits_nowhere",
		job: []builder.JobOption{pytorch, builder.Workers(4), builder.Elastic(2, 4)}, want: leaderSucceeded(0, 0, 0), every: 2,
		before: func(r *run) { r.NoImage["j-worker-0"], r.Homeless["j-worker-3"] = true, true },
		play: func(r *run) {
			r.until("all but the leader and the homeless run", func() bool { return r.Job().Status.Ready == "2/4" })
			r.wait(5 * time.Second)
			if meta.IsStatusConditionTrue(r.Job().Status.Conditions, v1alpha1.ConditionRunning) {
				r.check.Violate("11 one phase: the job runs without worker-0, where the others meet")
			}
			delete(r.NoImage, "j-worker-0")
			r.phase(v1alpha1.PhaseRunning)
			r.wait(time.Minute)
			delete(r.Homeless, "j-worker-3")
			r.succeed("worker-0") // which waits for four that run
		}},
	{name: "resumed_collective_has_every_rank", job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(0, 0, 0), every: 2,
		play: func(r *run) {
			r.running()
			r.finished("worker-2")
			r.Suspend(true)
			r.phase(v1alpha1.PhaseSuspended)
			r.wait(5 * time.Second)
			r.Suspend(false)
			r.succeed("worker-0") // which waits for three that run
		}},
	{name: "every_node_has_broken_once", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(3, 3, 0), every: 11,
		play: func(r *run) {
			for i := range nodes {
				r.within(2*time.Minute, "the job runs again", r.running)
				node := r.pod("worker-0").Spec.NodeName
				r.FailNode(node)
				r.restarted(int32(i + 1))
				r.ReviveNode(node)
			}
			r.within(2*time.Minute, "the job runs although every node is avoided", r.running)
			r.succeed("worker-0")
		}},
	{name: "saves_before_a_suspension", job: []builder.JobOption{pytorch, builder.Workers(2), builder.Asking(20)}, want: leaderSucceeded(0, 0, 0), every: 2,
		play: func(r *run) {
			r.running()
			r.Suspend(true)
			r.isAsked()
			r.wait(5 * time.Second)
			r.phase(v1alpha1.PhaseRunning)
			r.within(14*time.Second, "the request is done", func() { r.ReportByPage(0, true); r.phase(v1alpha1.PhaseSuspended) })
			r.Suspend(false)
			r.succeed("worker-0")
		}},
	{name: "answers_nothing", job: []builder.JobOption{pytorch, builder.Workers(2), builder.Asking(20)}, want: leaderSucceeded(0, 0, 0), every: 2,
		play: func(r *run) {
			r.running()
			r.Suspend(true)
			r.within(45*time.Second, "the time is over", func() { r.phase(v1alpha1.PhaseSuspended) })
			r.Suspend(false)
			r.succeed("worker-0")
		}},
	{name: "is_resumed_while_it_saves", job: []builder.JobOption{pytorch, builder.Workers(2), builder.Asking(20)}, want: leaderSucceeded(0, 0, 0), every: 2,
		play: func(r *run) {
			r.running()
			first := r.pod("worker-0").UID
			r.Suspend(true)
			r.isAsked()
			r.Suspend(false)
			r.until("the request is gone", func() bool {
				return r.Job().Status.CheckpointRequest == nil && r.pod("worker-0").Annotations[v1alpha1.AnnotationCheckpointRequest] == ""
			})
			r.succeed("worker-0")
			if got := r.pod("worker-0").UID; got != first {
				r.check.Violate("outcome: worker-0 was stopped")
			}
		}},
	{name: "saves_while_it_is_drained", job: []builder.JobOption{pytorch, builder.Workers(2), builder.Asking(20)}, want: leaderSucceeded(1, 1, 0), every: 2,
		play: func(r *run) {
			r.running()
			r.Deaf["j-worker-1"] = true // it trains on for its grace period
			r.Drain(world.User, r.pod("worker-1"), "EvictionByEvictionAPI")
			r.isAsked()
			r.ReportByPage(0, true)
			r.restarted(1)
			r.Deaf["j-worker-1"] = false
			r.succeed("worker-0")
		}},
	{name: "pod_never_ends", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 1), every: 3,
		before: func(r *run) { r.Deaf["j-worker-0"] = true },
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.within(2*time.Minute, "the job names the pod that does not end", func() { r.stalled(v1alpha1.ReasonPodNotEnding) })
			r.Deaf["j-worker-0"] = false
			r.succeed("worker-0")
		}},
	{name: "pod_never_ends_and_is_ended_by_force", job: []builder.JobOption{pytorch, builder.Workers(2), forced}, want: leaderSucceeded(1, 1, 1), every: 3,
		before: func(r *run) { r.Deaf["j-worker-0"] = true },
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.within(2*time.Minute, "the job runs again", r.running)
			r.Deaf["j-worker-0"] = false
			r.succeed("worker-0")
		}},
	{name: "same_name_again_beside_a_lost_node", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 0, 0), every: 5,
		play: func(r *run) {
			r.running()
			r.FailNode(r.pod("worker-1").Spec.NodeName)
			r.DeleteJob(metav1.DeletePropagationBackground)
			r.until("gone", func() bool { return r.Job() == nil })
			r.Submit(newJob(builder.Workers(2)))
			r.within(2*time.Minute, "the new job runs", r.running)
			r.succeed("worker-0")
		}},
	{name: "hangs_by_its_page", job: []builder.JobOption{pytorch, builder.Workers(2), builder.Page(9500, 20, v1alpha1.StallRestart)}, want: leaderSucceeded(1, 1, 1), every: 2,
		play: func(r *run) {
			r.running()
			r.ReportByPage(7, false)
			r.until("the step is known", func() bool { return r.Job().Status.Progress != nil && r.Job().Status.Progress.Step == 7 })
			r.wait(25 * time.Second)
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "names_the_rank_for_which_the_others_wait", job: []builder.JobOption{pytorch, builder.Workers(4), builder.Page(9500, 20, v1alpha1.StallRestart)}, want: leaderSucceeded(1, 1, 1), every: 2,
		play: func(r *run) {
			r.running()
			r.Reading = world.Reading{After: time.Second, Pages: map[string]string{"worker-2": world.Reads}}
			r.ReportByPage(7, false)
			r.until("the step is known", func() bool { return r.Job().Status.Progress != nil && r.Job().Status.Progress.Step == 7 })
			r.wait(25 * time.Second)
			r.restarted(1)
			r.hung("worker-2", "the last step was 7. 3 of 4 ranks wait in all_reduce (train.py:41); worker-2 is in read (dataset.py:88)")
			r.succeed("worker-0")
		}},
	{name: "names_the_rank_that_does_not_answer", job: []builder.JobOption{pytorch, builder.Workers(4), builder.Page(9500, 20, v1alpha1.StallRestart)}, want: leaderSucceeded(1, 1, 1), every: 2,
		play: func(r *run) {
			r.running()
			r.Reading = world.Reading{Pages: map[string]string{"worker-3": ""}}
			r.ReportByPage(7, false)
			r.until("the step is known", func() bool { return r.Job().Status.Progress != nil && r.Job().Status.Progress.Step == 7 })
			r.wait(25 * time.Second)
			r.restarted(1)
			r.hung("worker-3", "the last step was 7. 3 of 4 ranks wait in all_reduce (train.py:41); worker-3 does not answer")
			r.succeed("worker-0")
		}},
	{name: "does_not_wait_for_stacks", job: []builder.JobOption{pytorch, builder.Workers(2), builder.Page(9500, 20, v1alpha1.StallRestart)}, want: leaderSucceeded(1, 1, 1), every: 2,
		play: func(r *run) {
			r.running()
			r.Reading = world.Reading{After: time.Hour}
			r.ReportByPage(7, false)
			r.until("the step is known", func() bool { return r.Job().Status.Progress != nil && r.Job().Status.Progress.Step == 7 })
			r.wait(25 * time.Second)
			r.restarted(1)
			r.hung("worker-0", "the last step was 7")
			r.succeed("worker-0")
		}},
	{name: "out_of_the_operators_reach", job: []builder.JobOption{pytorch, builder.Workers(2), builder.Page(9500, 20, v1alpha1.StallRestart)}, want: leaderSucceeded(0, 0, 0), every: 2,
		play: func(r *run) {
			r.running()
			r.ReportByPage(7, false)
			r.until("the step is known", func() bool { return r.Job().Status.Progress != nil })
			r.Unreachable = true
			r.wait(time.Minute)
			r.until("the status says why nothing is known", func() bool {
				c := meta.FindStatusCondition(r.Job().Status.Conditions, v1alpha1.ConditionProgressing)
				return c != nil && c.Reason == v1alpha1.ReasonProgressUnread
			})
			r.ReportByPage(1, false)
			r.Unreachable = false
			r.until("it makes progress", func() bool {
				return meta.IsStatusConditionTrue(r.Job().Status.Conditions, v1alpha1.ConditionProgressing)
			})
			r.succeed("worker-0")
		}},
	// The step of a job is in its status, and no report can come any more, as after an upgrade from the Lease: nothing hangs, and nothing is counted.
	{name: "has_no_page", job: []builder.JobOption{pytorch, builder.Workers(2), builder.Progress(20, v1alpha1.StallRestart)}, want: leaderSucceeded(5, 5, 5), every: 2,
		play: func(r *run) {
			r.running()
			r.ReportByPage(7, false)
			r.until("the step is recorded", func() bool { return r.Job().Status.Progress != nil })
			r.EditSpec(func(spec *v1alpha1.TrainingJobSpec) { spec.Progress.Port = 0 })
			for range 5 { // more than noProgressLimit
				r.running()
				r.wait(time.Minute)
				r.crash(1, "worker-1")
			}
			r.running()
			if lost := r.Job().Status.LostSeconds.Redone; lost > 0 {
				r.check.Violate("outcome: %d s count as redone, and no report can end that", lost)
			}
			r.succeed("worker-0")
		}},
	{name: "suspended_and_changed_unseen", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(0, 0, 0), every: 2,
		play: func(r *run) {
			r.running()
			r.Suspend(true)
			r.Scale(4)
			r.Suspend(false)
			r.succeed("worker-0") // which waits for four that run
		}},
	{name: "success_told_of_the_container_only", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(0, 0, 0), every: 2,
		play: func(r *run) {
			r.running()
			r.exit(0, "worker-0")
			r.exit(1, "worker-1") // for want of the other; the kubelet has yet to say that the pod of worker-0 has succeeded
			r.phase(v1alpha1.PhaseSucceeded)
		}},
	{name: "rejected_alone", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(0, 1, 0), every: 2,
		before: func(r *run) { r.Rejecting["node-1"] = "UnexpectedAdmissionError" },
		play: func(r *run) {
			r.promptly(operator.LostAfter, "the job runs", r.running)
			r.succeed("worker-0")
		}},
	{name: "rebooted", job: []builder.JobOption{pytorch, builder.Workers(2, builder.Policy(v1alpha1.RestartNever))},
		want: leaderSucceeded(1, 1, 0), every: 2, play: func(r *run) {
			r.running()
			r.Reboot(r.pod("worker-1").Spec.NodeName)
			r.promptly(time.Second, "the loss is counted", func() { r.restarted(1) })
			r.succeed("worker-0")
		}},
	{name: "ended_by_kueue_before_it_had_a_node", job: []builder.JobOption{pytorch, builder.Workers(2, builder.Policy(v1alpha1.RestartNever))},
		want: leaderSucceeded(0, 1, 0), every: 2, before: func(r *run) { r.Homeless["j-worker-1"] = true },
		play: func(r *run) {
			r.until("a pod waits", func() bool { return r.pod("worker-1") != nil })
			r.GiveUp(r.pod("worker-1"))
			r.restarted(1)
			if i := &r.Job().Status.Incidents[0]; i.Reason != "UnschedulableOnAssignedNode" {
				r.check.Violate("8 exactly once: a pod that never had a node failed of %s", i.Reason)
			}
			r.Homeless["j-worker-1"] = false
			r.succeed("worker-0")
		}},
	{name: "evicted_in_two_versions", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 1), every: 2,
		play: func(r *run) {
			r.running()
			r.EvictInTwo(r.pod("worker-1"))
			r.restarted(1)
			if i := &r.Job().Status.Incidents[0]; i.Reason != "Evicted" || i.ExitCode == nil {
				r.check.Violate("8 exactly once: an eviction is counted as %s of %s-%d", i.Reason, i.Role, i.Index)
			}
			r.succeed("worker-0")
		}},
	{name: "evicted_for_its_node", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 0), every: 2,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.EvictForNode(r.pod("worker-1"))
			r.restarted(1)
			r.running()
			if got := r.pod("worker-1").Spec.NodeName; got == node {
				r.check.Violate("15 nodes: worker-1 is back on %s, which has just evicted it", node)
			}
			r.succeed("worker-0")
		}},
	{name: "evicted_for_its_storage", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 1, 1), every: 2,
		play: func(r *run) {
			r.running()
			r.Evict(r.pod("worker-1"))
			r.restarted(1)
			if i := &r.Job().Status.Incidents[0]; i.Reason != "Evicted" {
				r.check.Violate("8 exactly once: an eviction is counted as %s", i.Reason)
			}
			r.succeed("worker-0")
		}},
	{name: "restarted_in_place", job: []builder.JobOption{pytorch, builder.Workers(2), restartedInPlace(v1alpha1.Worker)}, want: leaderSucceeded(0, 0, 0),
		every: 2, play: func(r *run) {
			r.running()
			r.exit(42, "worker-1")
			r.until("it runs again in its pod", func() bool {
				pod := r.pod("worker-1")
				return pod != nil && len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount == 1
			})
			r.succeed("worker-0")
		}},
	{name: "in_place", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace}, want: leaderSucceeded(2, 2, 2), play: func(r *run) {
		r.running()
		r.exit(1, "worker-1")
		r.restarted(1)
		r.running()
		r.goOnInPlace("j-worker-0", "j-worker-1-a1r0", "j-worker-2")
		r.exit(1, "worker-0") // the leader: it is created anew, last
		r.restarted(2)
		r.running()
		r.goOnInPlace("j-worker-0-a2r0", "j-worker-1-a1r0", "j-worker-2")
		r.succeed("worker-0")
	}},
	{name: "asked_for", job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(2, 2, 0), play: func(r *run) {
		r.running()
		r.AskForRestart()
		r.restarted(1)
		r.running()
		r.Suspend(true)
		r.suspended()
		r.AskForRestart() // nothing is left to restart
		r.until("that is answered", r.isAnswered)
		r.Suspend(false)
		r.running()
		r.AskForRestart()
		r.restarted(2)
		r.succeed("worker-0")
	}},
	{name: "asked_for_in_place", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace}, want: leaderSucceeded(1, 1, 0), play: func(r *run) {
		r.running()
		r.AskForRestart()
		r.restarted(1)
		r.running()
		r.goOnInPlace("j-worker-0", "j-worker-1", "j-worker-2")
		r.succeed("worker-0")
	}},
	{name: "one_asked_for_in_place", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace}, want: leaderSucceeded(1, 1, 0), play: func(r *run) {
		r.running()
		r.AskForRestartOf("worker-1")
		r.restarted(1)
		r.running()
		r.goOnInPlace("j-worker-0", "j-worker-1-a1r0", "j-worker-2")
		r.AskForRestartOf("worker-7") // the job has none
		r.until("that is answered", r.isAnswered)
		r.succeed("worker-0")
	}},
	{name: "one_asked_for_alone", job: []builder.JobOption{tensorflow, builder.Workers(2), builder.PS(1)}, want: leaderSucceeded(0, 2, 0), every: 2, play: func(r *run) {
		r.running()
		r.AskForRestartOf("worker-1")
		r.until("it has another pod", func() bool { return r.pod("worker-1") != nil && r.pod("worker-1").Name == "j-worker-1-a0r1" })
		r.running()
		r.AskForRestartOf("worker-1")
		r.until("it has a third pod", func() bool { return r.pod("worker-1") != nil && r.pod("worker-1").Name == "j-worker-1-a0r2" })
		r.running()
		r.succeed("worker-0")
	}},
	{name: "one_replaced_after_the_method_changed", job: []builder.JobOption{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(2, builder.Scope(v1alpha1.ScopeReplica)), quick},
		want: leaderSucceeded(1, 2, 1), every: 3, play: func(r *run) {
			r.running()
			r.AskForRestart()
			r.restarted(1)
			r.running()
			r.EditSpec(func(spec *v1alpha1.TrainingJobSpec) { spec.Recovery.TerminationGraceSeconds = ptr.To[int32](2) })
			r.exit(1, "worker-1") // it must meet the others where they are
			r.restarted(2)
			r.succeed("master-0")
		}},
	{name: "in_place_where_kubelets_break", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace}, want: leaderSucceeded(1, 1, 1),
		every: 2, before: func(r *run) { r.Fragile["node-2"] = true }, play: func(r *run) {
			r.running()
			r.exit(1, "worker-0")
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "in_place_without_digests", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace}, want: leaderSucceeded(1, 1, 1),
		every: 5, before: func(r *run) { r.SideLoaded["node-1"] = true }, play: func(r *run) {
			r.running()
			r.exit(1, "worker-0")
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "in_place_and_one_does_not_end", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace}, want: leaderSucceeded(1, 1, 1),
		every: 5, play: func(r *run) {
			r.running()
			r.Deaf["j-worker-2"] = true
			r.exit(1, "worker-1")
			r.restarted(1)
			r.wait(50 * time.Second)
			delete(r.Deaf, "j-worker-2")
			r.running()
			r.succeed("worker-0")
		}},
	{name: "in_place_refused", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace}, want: leaderSucceeded(1, 1, 1),
		every: 5, play: func(r *run) {
			r.Server.Admit = func(q *server.Request) error {
				if q.User == operator.User && q.Strategic {
					return apierrors.NewForbidden(server.Pods.Resource(), q.Key.Name, errors.New("images are frozen here"))
				}
				return nil
			}
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "in_place_twice_within_a_second", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace}, want: leaderSucceeded(2, 2, 2),
		every: 3, play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.until("the leader is back", func() bool { return toldAttempt(r.pod("worker-0")) == "1" })
			r.wait(2 * time.Second)
			r.exit(1, "worker-2")
			r.restarted(2)
			r.running()
			r.succeed("worker-0")
		}},
}

// forced lets the job end a pod by force that does not end on a node that is well.
var forced = builder.Recovery(func(r *v1alpha1.Recovery) { r.ForceAfterSeconds = ptr.To[int32](10) })

// toldAttempt returns the attempt that the pod was told last; "" of no pod.
func toldAttempt(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	return pod.Labels[v1alpha1.LabelAttempt]
}

// goOnInPlace holds that the job's pods that can run are those and no others.
func (r *run) goOnInPlace(pods ...string) {
	var are []string
	for _, pod := range r.Pods() {
		if !world.IsOver(pod) {
			are = append(are, pod.Name)
		}
	}
	slices.Sort(are)
	if _, undisturbed := r.faults.(nothing); undisturbed && !slices.Equal(are, pods) {
		r.check.Violate("19 in place: the pods are %v, not %v", are, pods)
	}
}

// goesOn waits until the job runs and holds that it goes on running for a while, with whatever is missing; then its chief succeeds.
func (r *run) goesOn(while time.Duration) {
	r.phase(v1alpha1.PhaseRunning)
	r.wait(while)
	r.exit(0, "chief-0")
	r.phase(v1alpha1.PhaseSucceeded)
}
