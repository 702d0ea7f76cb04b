package sim_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/builder"
	"github.com/trainingjob/operator/test/sim/operator"
)

// ills are the stories of nodes that say that they are ill.
var ills = []scenario{
	{name: "ill_node_is_left_once", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.SayNotIll(node, operator.MovesFrom, corev1.ConditionUnknown)
			r.wait(5 * time.Second)
			r.SayIll(node, operator.MovesFrom)
			r.restarted(1)
			r.flap(node)
			r.within(2*time.Minute, "the job runs elsewhere", r.running)
			r.isNotOn(node, "worker-1")
			r.succeed("worker-0")
		}},
	{name: "ill_node_is_left_by_one_replica", job: []builder.JobOption{builder.Workers(2), builder.AllWorkers()}, want: outcome{v1alpha1.PhaseSucceeded, v1alpha1.ReasonAllWorkersSucceeded, 0, 1, 0}, every: 3,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.SayIll(node, operator.MovesFrom)
			r.restarted(1)
			r.within(2*time.Minute, "the job runs elsewhere", r.running)
			r.isNotOn(node, "worker-1")
			r.succeed("worker-0", "worker-1")
		}},
	{name: "ill_node_is_left_and_the_others_go_on_in_place", job: []builder.JobOption{pytorch, builder.Workers(2), inPlace}, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.SayIll(node, operator.MovesFrom)
			r.restarted(1)
			r.within(2*time.Minute, "the job runs again", r.running)
			r.goOnInPlace("j-worker-0", "j-worker-1-a1r0")
			r.isNotOn(node, "worker-1")
			r.succeed("worker-0")
		}},
	{name: "ill_node_explains_an_exit", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(2, 2, 0), every: 3,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.exit(1, "worker-1")
			r.restarted(1)
			r.running()
			r.SayIll(node, operator.MovesFrom)
			r.restarted(2) // the replica had come back to its node
			r.within(2*time.Minute, "the job runs elsewhere", r.running)
			r.isNotOn(node, "worker-1")
			r.succeed("worker-0")
		}},
	{name: "nobody_leaves_an_ill_node_for_another_one", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(0, 0, 0), every: 3,
		play: func(r *run) {
			r.running()
			node, free := r.pod("worker-1").Spec.NodeName, r.freeNode()
			r.SayIll(free, operator.MovesFrom)
			r.wait(10 * time.Second) // else who does not know yet moves there
			r.SayIll(node, operator.MovesFrom)
			r.until("an Event shows that the job stays", func() bool {
				avoided := r.Job().Status.AvoidedNodes
				return len(avoided) == 1 && avoided[0].Name == node && avoided[0].Reason == v1alpha1.ReasonNodeIll
			})
			r.flap(node)
			r.SayNotIll(free, operator.MovesFrom, corev1.ConditionFalse)
			r.flap(node)
			r.succeed("worker-0")
		}},
	{name: "new_pods_stay_off_an_ill_node", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 1, 1), every: 3,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.SayIll(node, operator.StaysOff)
			r.wait(20 * time.Second)
			if n := r.Job().Status.Restarts; n > 0 {
				r.check.Violate("22 ill nodes: %d restarts because of a node that new pods are to stay off", n)
			}
			r.exit(1, "worker-1")
			r.restarted(1)
			r.within(2*time.Minute, "the job runs again", r.running)
			r.isNotOn(node, "worker-1")
			r.succeed("worker-0")
		}},
	{name: "ill_node_counts_as_lost", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 0), every: 5,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.SayIll(node, operator.Loses)
			r.restarted(1)
			r.within(2*time.Minute, "the job runs elsewhere", r.running)
			r.isNotOn(node, "worker-1")
			r.succeed("worker-0")
		}},
}

// flap has the node say for a while that it is well, that nobody knows, and that it is ill.
func (r *run) flap(node string) {
	for range 3 {
		r.SayNotIll(node, operator.MovesFrom, corev1.ConditionFalse)
		r.wait(3 * time.Second)
		r.SayIll(node, operator.MovesFrom)
		r.wait(7 * time.Second)
		r.SayNotIll(node, operator.MovesFrom, corev1.ConditionUnknown)
		r.wait(time.Second)
		r.SayIll(node, operator.MovesFrom)
		r.wait(7 * time.Second)
	}
}

// freeNode returns a node that has no pod.
func (r *run) freeNode() string {
	i := slices.IndexFunc(nodes, func(node string) bool {
		return !slices.ContainsFunc(r.Pods(), func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node })
	})
	return nodes[i]
}

// isNotOn waits until the slot's pod runs, with nobody ending, and holds that no pod that runs is on the node.
func (r *run) isNotOn(node, slot string) {
	r.until(slot+" runs", func() bool {
		pod := r.pod(slot)
		return pod != nil && pod.Status.Phase == corev1.PodRunning && !slices.ContainsFunc(r.Pods(), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	})
	for _, pod := range r.Pods() {
		if pod.Spec.NodeName == node && pod.Status.Phase == corev1.PodRunning {
			r.check.Violate("22 ill nodes: %s is on %s", pod.Name, node)
		}
	}
}
