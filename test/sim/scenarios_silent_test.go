package sim_test

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// neverNoticed is later than the end of any scenario.
const neverNoticed = 10 * time.Hour

var reporting = []builder.JobOption{pytorch, builder.Workers(3), builder.Page(9500, 600, v1alpha1.StallRestart)}

// silences are the stories of nodes whose kubelets do not renew their Leases, while a restart waits for them.
var silences = []scenario{
	{name: "silent_node_delays_a_restart", job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) { r.restartsWithout("worker-1", 50*time.Second) }},
	{name: "silent_node_delays_a_restart_in_place", job: []builder.JobOption{pytorch, builder.Workers(3), inPlace}, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) { r.restartsWithout("worker-1", 50*time.Second) }},
	{name: "silent_node_delays_a_gang", job: []builder.JobOption{pytorch, builder.Workers(3), native}, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) { r.restartsWithout("worker-1", 50*time.Second) }},
	// No connection closes, so no rank breaks: all wait for the one on the silent node, and rank 0 reports no more. A new leader has not seen
	// the reports before, and waits until Kubernetes marks the node.
	{name: "silent_node_ends_the_reports", job: reporting, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) { r.reports(); r.losesSilently("worker-1", time.Minute, 50*time.Second, func() {}) }},
	{name: "silent_node_of_the_leader", job: reporting, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) { r.reports(); r.losesSilently("worker-0", time.Minute, 50*time.Second, func() {}) }},
	{name: "reports_are_late_and_no_node_is_silent", job: reporting, want: leaderSucceeded(0, 0, 0), every: 3,
		play: func(r *run) {
			r.reports()
			r.wait(2 * time.Minute)
			r.reports()
			r.succeed("worker-0")
		}},
	{name: "silent_node_is_noticed_later", job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) {
			r.running()
			r.SilenceNode(r.pod("worker-1").Spec.NodeName, 50*time.Second)
			r.exit(1, "worker-2")
			r.runsAgain()
			r.wait(3 * time.Minute) // the node controller marks the node, and its pod is deleted by force
			r.succeed("worker-0")
		}},
	{name: "node_of_a_job_that_runs_is_silent", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(0, 0, 0), every: 3,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.SilenceNode(node, neverNoticed)
			r.wait(5 * time.Minute)
			r.ReviveNode(node)
			r.succeed("worker-0")
		}},
	// Its kubelet works and ends pods, but its Lease shows no renewal. One pod does not end, so it is what the restart waits for.
	{name: "silent_node_comes_back", job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.Deaf["j-worker-1"] = true
			r.Leases.Mute[node] = true
			r.exit(1, "worker-2")
			r.promptly(50*time.Second, "all replicas run elsewhere", r.runsAgain)
			clear(r.Leases.Mute)
			r.wait(time.Minute)
			clear(r.Deaf)
			r.succeed("worker-0")
		}},
	{name: "slow_control_plane_makes_no_node_silent", job: []builder.JobOption{pytorch, builder.Workers(2)}, want: leaderSucceeded(1, 1, 1), every: 3,
		play: func(r *run) {
			r.running()
			for _, node := range nodes {
				r.Leases.Mute[node] = true
			}
			r.Deaf["j-worker-1"] = true
			r.exit(1, "worker-0")
			r.wait(2 * time.Minute)
			if avoided := r.Job().Status.AvoidedNodes; len(avoided) > 0 {
				r.check.Violate("no node is silent alone, and the job avoids %+v", avoided)
			}
			clear(r.Deaf)
			r.succeed("worker-0")
		}},
}

// reports lets the ranks report every 5 s for some time.
func (r *run) reports() {
	r.running()
	for range 5 {
		r.ReportByPage(1, false)
		r.wait(5 * time.Second)
	}
}

// runsAgain waits until the job runs after its first restart.
func (r *run) runsAgain() {
	r.restarted(1)
	r.running()
}

// restartsWithout cuts off the node of a replica, breaks a peer of it, and lets the job restart elsewhere in time.
func (r *run) restartsWithout(replica string, most time.Duration) {
	r.running()
	r.losesSilently(replica, neverNoticed, most, func() { r.exit(1, "worker-2") })
}

// losesSilently cuts off the node of a replica, which the node controller notices after some time, lets its peers notice it, and lets the job
// restart elsewhere in time.
func (r *run) losesSilently(replica string, noticed, most time.Duration, peers func()) {
	node := r.pod(replica).Spec.NodeName
	r.SilenceNode(node, noticed)
	peers()
	r.promptly(most, "all replicas run elsewhere", r.runsAgain)
	if first := r.Job().Status.Incidents[0]; noticed == neverNoticed && first.Reason != v1alpha1.ReasonNodeSilent || first.Node != node {
		r.check.Violate("the incident is %s on %s, not the silence of %s", first.Reason, first.Node, node)
	}
	if at := slices.IndexFunc(r.Job().Status.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return n.Name == node }); at < 0 {
		r.check.Violate("the job does not avoid %s", node)
	}
	r.ReviveNode(node) // else its pod would stay for ever
	r.succeed("worker-0")
}
