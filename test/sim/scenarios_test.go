package sim_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/scheduler"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

var tensorflow = builder.Framework(v1alpha1.TensorFlow)

// leaderSucceeded is the good end of a job whose leader decides.
func leaderSucceeded(attempt, restarts, charged int32) outcome {
	return outcome{v1alpha1.PhaseSucceeded, v1alpha1.ReasonLeaderSucceeded, attempt, restarts, charged}
}

func failed(reason string, attempt, restarts, charged int32) outcome {
	return outcome{v1alpha1.PhaseFailed, reason, attempt, restarts, charged}
}

// scenarios are the stories with a name.
var scenarios = slices.Concat(basics, gangs, rows, worlds, unhealthyStories, silences, books, holds)

// basics are the stories of jobs whose pods are scheduled one by one.
var basics = []scenario{
	{name: "success", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(0, 0, 0),
		play: func(r *run) { r.succeed("worker-0") }},
	{name: "chief_ps_worker", job: []builder.JobOption{tensorflow, builder.Leader(v1alpha1.Chief), builder.PS(1), builder.Workers(2)},
		want: leaderSucceeded(0, 0, 0), play: func(r *run) { r.succeed("chief-0") }},
	{name: "scope_replica", job: []builder.JobOption{tensorflow, builder.Leader(v1alpha1.Chief), builder.PS(1), builder.Workers(2)},
		want: leaderSucceeded(0, 1, 1), play: func(r *run) {
			r.running()
			r.exit(137, "worker-1")
			r.promptly(time.Second, "the failure is counted", func() { r.restarted(1) }) // before the kubelet says it of the pod
			r.succeed("chief-0")
		}},
	{name: "parameter_server_breaks", job: []builder.JobOption{tensorflow, builder.Leader(v1alpha1.Chief), builder.PS(1), builder.Workers(2)},
		want: leaderSucceeded(1, 1, 1), play: func(r *run) {
			r.running()
			r.exit(137, "ps-0")
			r.restarted(1)
			r.succeed("chief-0")
		}},
	{name: "mpi_worker_lost", job: []builder.JobOption{mpi, builder.Leader(v1alpha1.Launcher), builder.Workers(2)}, want: leaderSucceeded(1, 1, 1),
		play: func(r *run) {
			r.running()
			r.exit(137, "worker-1") // and mpirun gives up
			r.exit(1, "launcher-0")
			r.restarted(1)
			r.succeed("launcher-0")
		}},
	{name: "scope_role", job: []builder.JobOption{builder.Leader(v1alpha1.Launcher), builder.Workers(3, builder.Scope(v1alpha1.ScopeRole))},
		want: leaderSucceeded(0, 1, 1), play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.succeed("launcher-0")
		}},
	{name: "roles_of_its_own", want: leaderSucceeded(1, 3, 1), every: 2,
		job: []builder.JobOption{builder.Leader(v1alpha1.Master), builder.Replicas("actor", 3),
			builder.Replicas("loader", 2, builder.Scope(v1alpha1.ScopeRole)), builder.Replicas("learner", 1, builder.Scope(v1alpha1.ScopeJob))},
		play: func(r *run) {
			for i, slot := range []string{"actor-1", "loader-0", "learner-0"} {
				r.running()
				r.wait(11 * time.Second) // an incident of its own
				r.exit(137, slot)
				r.restarted(int32(i + 1))
			}
			r.succeed("master-0")
		}},
	{name: "restored_behind_its_checkpoints", job: []builder.JobOption{pytorch, builder.Workers(2), builder.FirstAttempt("7")}, want: leaderSucceeded(8, 1, 1),
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "scope_job", job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(1, 1, 1),
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "budget_reached", job: []builder.JobOption{pytorch, builder.Workers(2), builder.MaxRestarts(1)},
		want: failed(v1alpha1.ReasonMaxRestartsExceeded, 1, 1, 1), play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.running()
			r.exit(1, "worker-0")
			r.phase(v1alpha1.PhaseFailed)
		}},
	{name: "permanent_code", job: []builder.JobOption{pytorch, builder.Workers(2, builder.Policy(v1alpha1.RestartExitCode))},
		want: failed(v1alpha1.ReasonFatalExit, 0, 0, 0), play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.phase(v1alpha1.PhaseFailed)
		}},
	{name: "three_workers_at_once", job: []builder.JobOption{pytorch, builder.Workers(4)}, want: leaderSucceeded(1, 1, 1),
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-0", "worker-1", "worker-3")
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "three_replicas_at_once", job: []builder.JobOption{builder.Workers(4)}, want: leaderSucceeded(0, 1, 1),
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-0", "worker-1", "worker-3")
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "fault_that_twelve_workers_share", job: []builder.JobOption{builder.Workers(12)}, want: leaderSucceeded(0, 2, 2), every: 4,
		play: func(r *run) {
			r.running()
			r.exit(1, workers(0, 5)...)
			r.restarted(1)
			r.exit(1, workers(5, 12)...) // these kubelets report a moment later
			r.running()
			r.isCounted(1)
			r.wait(6 * time.Second)
			r.exit(1, workers(0, 12)...)
			r.restarted(2)
			r.succeed("worker-0")
		}},
	{name: "parameter_server_lost_under_twelve_workers", job: []builder.JobOption{tensorflow, builder.Leader(v1alpha1.Chief), builder.PS(1), builder.Workers(12)},
		want: leaderSucceeded(1, 2, 0), every: 4, play: func(r *run) {
			r.running()
			node := r.pod("ps-0").Spec.NodeName
			r.FailNode(node)
			r.wait(2 * time.Second)
			r.exit(1, slices.DeleteFunc(workers(0, 12), func(slot string) bool { return r.pod(slot).Spec.NodeName == node })...) // no connection
			r.restarted(2)
			r.TaintNode(node)
			r.succeed("chief-0")
		}},
	{name: "parameter_server_ends_after_its_workers", job: []builder.JobOption{tensorflow, builder.Leader(v1alpha1.Chief), builder.PS(1), builder.Workers(12),
		builder.MaxRestarts(1)}, want: leaderSucceeded(1, 2, 1), every: 4, play: func(r *run) {
		r.running()
		r.exit(1, workers(0, 12)...)
		r.restarted(1)
		r.exit(1, "ps-0")
		r.restarted(2)
		r.succeed("chief-0")
	}},
	{name: "failure_during_restart", job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(1, 1, 1),
		before: func(r *run) { r.Deaf["j-worker-0"] = true },
		play: func(r *run) {
			r.running()
			old := r.pod("worker-0").Name
			r.exit(1, "worker-1")
			r.restarted(1)
			r.wait(10 * time.Second)
			r.Deaf["j-worker-0"] = false
			if pod, _ := r.Server.Get(server.Pods, r.Key.Namespace, old).(*corev1.Pod); pod != nil && !world.IsOver(pod) {
				r.Exit(pod, 1, "during the restart")
			}
			r.succeed("worker-0")
		}},
	{name: "success_races_failure", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(0, 0, 0),
		play: func(r *run) {
			r.running()
			r.Exit(r.pod("worker-0"), 0, "")
			r.Tick(2 * time.Second) // the operator is not looking while the kubelet says so of the pod, too
			r.Exit(r.pod("worker-1"), 1, "")
			r.phase(v1alpha1.PhaseSucceeded)
		}},
	{name: "suspend_resume", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(0, 0, 0),
		play: func(r *run) {
			r.running()
			r.Suspend(true)
			r.suspended()
			r.Suspend(false)
			r.succeed("worker-0")
		}},
	{name: "created_suspended", job: []builder.JobOption{builder.Workers(2), builder.Suspended()}, want: leaderSucceeded(0, 0, 0),
		play: func(r *run) {
			r.suspended()
			r.Suspend(false)
			r.succeed("worker-0")
		}},
	{name: "resumed_while_pods_end", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.Deaf["j-worker-1"] = true },
		play:   (*run).resumedWhilePodsEnd},
	{name: "scaling", job: []builder.JobOption{pytorch, builder.Workers(2), builder.Elastic(1, 4)}, want: leaderSucceeded(0, 0, 0),
		play: func(r *run) {
			for _, n := range []int{4, 1, 3} {
				r.running()
				r.Scale(n)
			}
			r.succeed("worker-0")
		}},
	{name: "ttl", job: []builder.JobOption{builder.Workers(1), builder.TTL(20)}, want: gone,
		play: func(r *run) {
			r.succeed("worker-0")
			r.until("gone", func() bool { return r.Job() == nil })
		}},
	{name: "deadline", job: []builder.JobOption{builder.Workers(2), builder.Deadline(30)}, want: failed(v1alpha1.ReasonDeadlineExceeded, 0, 0, 0),
		play: func(r *run) {
			r.running()
			r.phase(v1alpha1.PhaseFailed)
		}},
	{name: "deleted_foreground", job: []builder.JobOption{builder.Workers(2)}, want: gone, play: deleted(metav1.DeletePropagationForeground)},
	{name: "deleted_background", job: []builder.JobOption{builder.Workers(2)}, want: gone, play: deleted(metav1.DeletePropagationBackground)},
	{name: "deleted_orphan", job: []builder.JobOption{builder.Workers(2)}, want: gone, play: func(r *run) {
		deleted(metav1.DeletePropagationOrphan)(r)
		for _, pod := range r.Pods() {
			r.Remove(world.User, pod)
		}
	}},
	{name: "deleted_with_quota", job: []builder.JobOption{builder.Workers(2), holdsQuota}, want: gone, play: deletedWithQuota(func(*run) {})},
	{name: "deleted_with_quota_after_its_end", job: []builder.JobOption{builder.Workers(2), builder.Clean(v1alpha1.CleanNone), holdsQuota}, want: gone,
		play: deletedWithQuota(func(r *run) {
			r.exit(0, "worker-0")
			r.phase(v1alpha1.PhaseSucceeded)
		})},
	{name: "same_name_again", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.Deaf["j-worker-1"] = true },
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-0")
			r.restarted(1)
			r.DeleteJob(metav1.DeletePropagationBackground)
			r.Submit(newJob(builder.Workers(2)))
			r.wait(10 * time.Second)
			r.Deaf["j-worker-1"] = false
			r.succeed("worker-0")
		}},
	{name: "service_missing", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 0, 0),
		play: func(r *run) {
			r.running()
			r.DeleteService("j")
			r.until("a Service again", func() bool { return r.Server.Get(server.Services, r.Key.Namespace, "j") != nil })
			r.succeed("worker-0")
		}},
	{name: "quota", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 0, 0),
		play: refused(apierrors.NewForbidden(server.Pods.Resource(), "j-worker-0", errQuota), v1alpha1.ReasonQuotaExceeded)},
	{name: "admission", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 0, 0),
		play: refused(apierrors.NewForbidden(server.Pods.Resource(), "j-worker-0", errPolicy), v1alpha1.ReasonForbidden)},
	{name: "image_never_pulled", job: []builder.JobOption{pytorch, builder.Workers(2), builder.StartupDeadline(20), builder.MaxRestarts(1)},
		want: failed(v1alpha1.ReasonMaxRestartsExceeded, 1, 1, 1), before: func(r *run) { r.NoImage["j-worker-1"] = true },
		play: func(r *run) { r.phase(v1alpha1.PhaseFailed) }},
	{name: "node_lost", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 0),
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.FailNode(node)
			r.promptly(operator.LostAfter+time.Second, "the loss of the node is counted", func() { r.restarted(1) })
			r.TaintNode(node)
			r.succeed("worker-0")
		}},
	{name: "kept_after_an_exit", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace}, want: leaderSucceeded(2, 2, 2), keepsEnded: true, every: 2,
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.running()
			r.exit(137, "worker-0")
			r.restarted(2)
			r.running()
			r.goOnInPlace("j-worker-0", "j-worker-1", "j-worker-2")
			r.succeed("worker-0")
		}},
	{name: "kept_alone", job: []builder.JobOption{tensorflow, builder.Leader(v1alpha1.Chief), builder.PS(1), builder.Workers(2), inPlace}, want: leaderSucceeded(0, 1, 1), keepsEnded: true, every: 2,
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.running()
			r.goOnInPlace("j-chief-0", "j-ps-0", "j-worker-0", "j-worker-1")
			r.succeed("chief-0")
		}},
	{name: "kept_until_the_job_has_failed", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace, builder.MaxRestarts(0)},
		want: outcome{Phase: v1alpha1.PhaseFailed, Reason: v1alpha1.ReasonMaxRestartsExceeded}, keepsEnded: true, every: 2,
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.phase(v1alpha1.PhaseFailed) // no pod holds its node: Quiet sees to that
		}},
	{name: "drained_while_it_is_kept", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace, builder.BackOff(60, 60)}, want: leaderSucceeded(2, 2, 2), keepsEnded: true, every: 2,
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.running()
			r.exit(1, "worker-1")
			r.restarted(2)
			r.wait(10 * time.Second) // of its back-off
			for _, pod := range r.Pods() {
				if pod.Name == "j-worker-1" {
					r.Drain(world.User, pod, "EvictionByEvictionAPI")
				}
			}
			r.running()
			r.succeed("worker-0")
		}},
	{name: "node_silent_when_its_pod_should_restart_in_place", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace}, want: leaderSucceeded(1, 1, 0),
		every: 3, play: func(r *run) {
			r.running()
			r.SilenceNode(r.pod("worker-1").Spec.NodeName, 20*time.Second)
			r.exit(1, "worker-2") // it has lost its connection
			r.restarted(1)
			r.running()
			r.goOnInPlace("j-worker-0", "j-worker-1", "j-worker-1-a1r1", "j-worker-2-a1r0") // the second one is lost, and may have begun its life
			r.succeed("worker-0")
		}},
	{name: "node_out_of_service", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 0),
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.FailNode(node)
			r.wait(8 * time.Second)
			r.TaintNode(node)
			r.promptly(time.Second, "the loss of the node is counted", func() { r.restarted(1) })
			r.succeed("worker-0")
		}},
	{name: "every_node_is_needed", job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(1, 1, 0),
		before: func(r *run) { r.Room = 1 }, play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.FailNode(node)
			r.restarted(1)
			r.wait(2 * time.Minute)
			r.ReviveNode(node)
			r.succeed("worker-0")
		}},
	{name: "no_other_node_fits", job: []builder.JobOption{builder.Workers(1)}, want: leaderSucceeded(0, 1, 0),
		play: func(r *run) {
			r.running()
			node := r.pod("worker-0").Spec.NodeName
			r.FailNode(node)
			r.NoNodes = true
			r.until("the pod fits nowhere", func() bool {
				pod := r.pod("worker-0")
				return pod != nil && scheduler.Excludes(pod, node) && len(pod.Status.Conditions) > 0
			})
			waits := r.pod("worker-0").UID
			r.ReviveNode(node)
			r.wait(2 * time.Minute)
			r.NoNodes = false
			r.running()
			if pod := r.pod("worker-0"); pod.UID == waits || scheduler.Excludes(pod, node) {
				r.check.Violate("24 what waits says for what: %s excludes %s, which is well", pod.Name, node)
			}
			r.succeed("worker-0")
		}},
	{name: "node_deleted", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 1, 0),
		play: func(r *run) {
			r.running()
			r.DeleteNode(r.pod("worker-1").Spec.NodeName)
			r.promptly(time.Second, "the loss of the node is counted", func() { r.restarted(1) })
			r.succeed("worker-0")
		}},
	{name: "pod_deleted_by_hand", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 1, 0),
		play: lost(func(r *run, pod *corev1.Pod) { r.DeletePod(world.User, pod) })},
	{name: "pod_deleted_and_slow_to_end", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 1, 0),
		before: func(r *run) { r.Deaf["j-worker-1"] = true },
		play: func(r *run) {
			r.running()
			r.DeletePod(world.User, r.pod("worker-1"))
			r.promptly(time.Second, "the loss is counted", func() { r.restarted(1) })
			r.Deaf["j-worker-1"] = false
			r.succeed("worker-0")
		}},
	{name: "pod_vanished", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 1, 0),
		play: lost(func(r *run, pod *corev1.Pod) { r.Remove(world.User, pod) })},
	{name: "drained", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 0),
		play: lost(func(r *run, pod *corev1.Pod) { r.Drain(world.User, pod, "EvictionByEvictionAPI") })},
	{name: "preempted", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 1, 0),
		play: lost(func(r *run, pod *corev1.Pod) { r.Drain(world.Scheduler, pod, "PreemptionByScheduler") })},
	{name: "name_conflict", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.CreatePod("j-worker-1", func(*corev1.Pod) {}) },
		play: func(r *run) {
			r.stalled(v1alpha1.ReasonNameConflict)
			r.Remove(world.User, r.Server.Get(server.Pods, r.Key.Namespace, "j-worker-1").(*corev1.Pod))
			r.succeed("worker-0")
		}},
	{name: "service_name_conflict", job: []builder.JobOption{builder.Workers(1)}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.CreateService("j") },
		play: func(r *run) {
			r.stalled(v1alpha1.ReasonNameConflict)
			r.DeleteService("j")
			r.succeed("worker-0")
		}},
	{name: "strange_pod", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 0, 0),
		play: func(r *run) {
			job := r.Job()
			r.CreatePod("j-worker-x", func(pod *corev1.Pod) {
				pod.Labels = map[string]string{v1alpha1.LabelJobUID: string(job.UID), v1alpha1.LabelJobName: job.Name, v1alpha1.LabelIndex: "x"}
				pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
			})
			r.succeed("worker-0")
		}},
	{name: "pod_of_nobody_with_the_jobs_labels", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 1),
		every: 2, play: func(r *run) {
			r.running()
			r.CreatePod("j-worker-7", func(pod *corev1.Pod) { pod.Labels = r.pod("worker-0").Labels })
			r.exit(137, "worker-1")
			r.restarted(1)
			r.succeed("worker-0")
			if r.Server.Get(server.Pods, r.Key.Namespace, "j-worker-7") == nil {
				r.check.Violate("7 foreign objects: the pod of nobody is gone")
			}
		}},
	{name: "back_off", job: []builder.JobOption{pytorch, builder.Workers(2), builder.BackOff(20, 60)}, want: leaderSucceeded(2, 2, 2),
		play: func(r *run) {
			for i := range int32(2) {
				r.running()
				r.exit(137, "worker-1")
				r.restarted(i + 1)
			}
			r.succeed("worker-0")
		}},
	{name: "success_is_kept", job: []builder.JobOption{builder.Workers(3), builder.AllWorkers()},
		want: outcome{v1alpha1.PhaseSucceeded, v1alpha1.ReasonAllWorkersSucceeded, 0, 1, 1}, play: func(r *run) {
			r.running()
			r.exit(0, "worker-1")
			r.until("success is noted", func() bool {
				return r.Job().Status.ReplicaStatuses[v1alpha1.Worker].Succeeded == 1
			})
			r.DeletePod(world.User, r.pod("worker-1"))
			r.exit(1, "worker-2")
			r.restarted(1)
			r.exit(0, "worker-0", "worker-2")
			r.phase(v1alpha1.PhaseSucceeded)
		}},
	{name: "restart_always", job: []builder.JobOption{tensorflow, builder.Workers(1), builder.PS(1, builder.Policy(v1alpha1.RestartAlways))},
		want: leaderSucceeded(0, 1, 0), play: func(r *run) {
			r.running()
			r.exit(0, "ps-0")
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "custom_collective", job: []builder.JobOption{builder.Workers(3, builder.Scope(v1alpha1.ScopeJob))}, want: leaderSucceeded(1, 1, 1),
		play: func(r *run) {
			r.running()
			r.exit(0, "worker-2")
			r.exit(1, "worker-1")
			r.restarted(1)
			r.running()
			if r.pod("worker-2") == nil {
				r.check.Violate("outcome: the ranks of a collective begin without worker-2")
			}
			r.succeed("worker-0")
		}},
	{name: "exception_in_one_rank", job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(1, 1, 1), every: 2,
		play: (*run).exceptionInOneRank},
	{name: "crash_at_teardown", job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(0, 0, 0), every: 2,
		play: func(r *run) {
			r.running()
			r.exit(0, "worker-2")
			r.exit(139, "worker-1")
			r.operate()
			r.exit(0, "worker-0")
			r.phase(v1alpha1.PhaseSucceeded)
		}},
	{name: "evaluator_given_up", job: []builder.JobOption{builder.Framework(v1alpha1.JAX), builder.Workers(2), builder.Evaluators(1)},
		want: leaderSucceeded(0, 0, 0), play: func(r *run) {
			r.running()
			r.exit(127, "evaluator-0")
			r.until("given up", func() bool {
				return r.Job().Status.Memory.Roles[v1alpha1.Evaluator].GivenUp != ""
			})
			r.exit(0, "worker-0")
			r.phase(v1alpha1.PhaseSucceeded)
		}},
	{name: "unschedulable", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.NoNodes = true },
		play: func(r *run) {
			r.until("unschedulable", func() bool { return r.Job().Status.Reason == v1alpha1.ReasonUnschedulable })
			r.NoNodes = false
			r.succeed("worker-0")
		}},
	{name: "long_last_words", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 1, 1),
		play: func(r *run) {
			r.running()
			r.Exit(r.pod("worker-1"), 1, longWords)
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "managed_by_another", job: []builder.JobOption{builder.Workers(2), func(job *v1alpha1.TrainingJob) { job.Spec.ManagedBy = "example.com/other" }},
		want: outcome{}, play: func(r *run) { r.wait(10 * time.Second) }},
	{name: "six_hundred_workers", job: []builder.JobOption{builder.Workers(600)}, want: leaderSucceeded(0, 1, 1), every: 599,
		play: func(r *run) {
			r.running()
			r.exit(137, "worker-300")
			r.restarted(1)
			r.succeed("worker-0")
		}},
}
