package sim_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// unhealthyStories are the stories of nodes that say that they are unhealthy.
var unhealthyStories = []scenario{
	{name: "pods_stay_on_an_ill_node_until_they_are_drained", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.ReportUnhealthy(node, operator.Breaks)
			r.flap(node)
			if n := r.Job().Status.Restarts; n > 0 {
				r.check.Violate("22 blame is true: %d restarts because of what a node says", n)
			}
			r.Drain(world.User, r.pod("worker-1"), "EvictionByEvictionAPI")
			r.restarted(1)
			r.within(2*time.Minute, "the job runs elsewhere", r.running)
			r.isNotOn(node, "worker-1")
			r.succeed("worker-0")
		}},
	{name: "ill_node_explains_an_exit", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.SayNotIll(node, operator.Breaks, corev1.ConditionUnknown)
			r.wait(5 * time.Second)
			r.exit(1, "worker-1")
			r.restarted(1)
			r.running()
			if r.Job().Status.ChargedRestarts == 0 {
				r.check.Violate("22 blame is true: a condition that is Unknown explains an exit")
			}
			r.ReportUnhealthy(node, operator.Breaks)
			r.until("the charge is given back", func() bool { return r.Job().Status.ChargedRestarts == 0 })
			r.succeed("worker-0")
		}},
	{name: "ill_node_explains_a_hang", want: leaderSucceeded(1, 1, 0), every: 3,
		job: []builder.JobOption{pytorch, builder.Workers(4), builder.Page(9500, 20, v1alpha1.StallRestart)}, play: func(r *run) {
			r.running()
			r.Reading = world.Reading{After: time.Second, Pages: map[string]string{"worker-2": world.Reads}}
			r.ReportByPage(7, false)
			r.wait(10 * time.Second)
			r.ReportUnhealthy(r.pod("worker-2").Spec.NodeName, operator.Breaks)
			r.restarted(1)
			r.until("the charge is given back", func() bool { return r.Job().Status.ChargedRestarts == 0 })
			r.succeed("worker-0")
		}},
	{name: "new_pods_stay_off_an_ill_node", job: []builder.JobOption{builder.Workers(2)}, want: leaderSucceeded(0, 1, 1), every: 3,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.ReportUnhealthy(node, operator.StaysOff)
			r.wait(20 * time.Second)
			if n := r.Job().Status.Restarts; n > 0 {
				r.check.Violate("22 blame is true: %d restarts because of a node that new pods are to stay off", n)
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
			r.ReportUnhealthy(node, operator.Loses)
			r.restarted(1)
			r.within(2*time.Minute, "the job runs elsewhere", r.running)
			r.isNotOn(node, "worker-1")
			r.succeed("worker-0")
		}},
}

// flap has the node say for a while that it is well, that nobody knows, and that it is unhealthy.
func (r *run) flap(node string) {
	for range 3 {
		r.SayNotIll(node, operator.Breaks, corev1.ConditionFalse)
		r.wait(3 * time.Second)
		r.ReportUnhealthy(node, operator.Breaks)
		r.wait(7 * time.Second)
		r.SayNotIll(node, operator.Breaks, corev1.ConditionUnknown)
		r.wait(time.Second)
		r.ReportUnhealthy(node, operator.Breaks)
		r.wait(7 * time.Second)
	}
}

// isNotOn waits until the slot's pod runs, with nobody ending, and holds that no pod that runs is on the node.
func (r *run) isNotOn(node, slot string) {
	r.until(slot+" runs", func() bool {
		pod := r.pod(slot)
		return pod != nil && pod.Status.Phase == corev1.PodRunning && !slices.ContainsFunc(r.Pods(), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	})
	for _, pod := range r.Pods() {
		if pod.Spec.NodeName == node && pod.Status.Phase == corev1.PodRunning {
			r.check.Violate("22 blame is true: %s is on %s", pod.Name, node)
		}
	}
}
