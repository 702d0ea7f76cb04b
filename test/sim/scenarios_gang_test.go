package sim_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
)

var native = builder.Gang(v1alpha1.GangNative)

// twoRacks makes two racks of two nodes, each with room for one pod.
func twoRacks(r *run) {
	r.AddNode("node-3")
	r.Racks, r.Room = map[string]string{"node-0": "a", "node-1": "a", "node-2": "b", "node-3": "b"}, 1
}

// gangs are the stories of jobs whose pods are scheduled all at once or not at all.
var gangs = []scenario{
	{name: "gang_admitted", job: []builder.JobOption{pytorch, builder.Workers(3), native}, want: leaderSucceeded(0, 0, 0),
		play: func(r *run) {
			r.running()
			r.grouped("j-0", 3)
			r.succeed("worker-0")
			r.ungrouped()
		}},
	{name: "gang_waits", job: []builder.JobOption{pytorch, builder.Workers(4), native}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.Room = 1 }, // three nodes for four
		play: func(r *run) {
			r.waits(v1alpha1.ReasonGangWaiting, "The gang needs 4 worker pods at once: minCount (4) cannot be satisfied: 3 scheduled, 0 remaining")
			r.wait(20 * time.Second)
			r.unbound()
			r.Room = 2
			r.succeed("worker-0")
		}},
	{name: "gang_waits_too_long", job: []builder.JobOption{pytorch, builder.Workers(4), native, builder.SchedulingTimeout(30)},
		want: failed(v1alpha1.ReasonSchedulingTimeout, 0, 0, 0), before: func(r *run) { r.Room = 1 },
		play: func(r *run) {
			r.phase(v1alpha1.PhaseFailed)
			r.unbound()
			r.ungrouped()
		}},
	{name: "gang_preempted", job: []builder.JobOption{pytorch, builder.Workers(3), native}, want: leaderSucceeded(1, 1, 0),
		play: func(r *run) {
			r.running()
			r.NoNodes = true
			r.Preempt(r.pod("worker-1"))
			r.restarted(1)
			r.waits(v1alpha1.ReasonGangWaiting, "The gang needs 3 worker pods at once: minCount (3) cannot be satisfied: 0 scheduled, 0 remaining")
			r.NoNodes = false
			r.running()
			r.grouped("j-1", 3)
			r.succeed("worker-0")
		}},
	{name: "gang_restarted", job: []builder.JobOption{pytorch, builder.Workers(2), native}, want: leaderSucceeded(1, 1, 1),
		before: func(r *run) { r.Deaf["j-worker-0"] = true },
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.wait(10 * time.Second) // the old group is there as long as a pod of it is
			r.Deaf["j-worker-0"] = false
			r.running()
			r.grouped("j-1", 2)
			r.succeed("worker-0")
		}},
	{name: "gang_member_replaced", job: []builder.JobOption{builder.Workers(3), native}, want: leaderSucceeded(0, 1, 1),
		play: func(r *run) {
			r.running()
			r.exit(1, "worker-1")
			r.restarted(1)
			r.running()
			r.grouped("j-0", 3)
			r.succeed("worker-0")
		}},
	{name: "gang_suspended", job: []builder.JobOption{pytorch, builder.Workers(2), native}, want: leaderSucceeded(0, 0, 0),
		play: func(r *run) {
			r.running()
			r.Suspend(true)
			r.suspended()
			r.ungrouped()
			r.Suspend(false)
			r.running()
			r.grouped("j-0", 2)
			r.succeed("worker-0")
		}},
	{name: "gang_resumed_while_pods_end", job: []builder.JobOption{builder.Workers(2), native}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.Deaf["j-worker-1"] = true },
		play:   (*run).resumedWhilePodsEnd},
	{name: "gang_elastic", job: []builder.JobOption{pytorch, builder.Workers(4), builder.Elastic(2, 5), native}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.Room = 1 }, // three nodes: two are enough
		play: func(r *run) {
			r.phase(v1alpha1.PhaseRunning)
			r.grouped("j-0", 2)
			r.Room = 0
			r.succeed("worker-0")
		}},
	{name: "gang_min_available", job: []builder.JobOption{builder.Workers(3), native, builder.MinAvailable(2)}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.DeleteNode("node-2"); r.Room = 1 },
		play: func(r *run) {
			r.waits(v1alpha1.ReasonUnschedulable, "")
			r.grouped("j-0", 2)
			r.Room = 0
			r.succeed("worker-0")
		}},
	{name: "gang_needs_fewer", job: []builder.JobOption{builder.Workers(3), native, builder.MinAvailable(3)}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.DeleteNode("node-2"); r.Room = 1 }, // two nodes
		play: func(r *run) {
			r.waits(v1alpha1.ReasonGangWaiting, "")
			r.needsAtOnce(2)
			r.waits(v1alpha1.ReasonUnschedulable, "")
			r.grouped("j-0", 2)
			r.Room = 0
			r.succeed("worker-0")
		}},
	{name: "gang_of_a_kubeflow_job_needs_too_many", job: []builder.JobOption{pytorch, builder.Served(), builder.Workers(2), native, builder.MinAvailable(10)},
		want: leaderSucceeded(0, 0, 0),
		play: func(r *run) {
			r.waits(v1alpha1.ReasonGangWaiting, "minAvailable is 10, and the job has 2 replicas: write 2 or less.")
			r.wait(20 * time.Second)
			r.unbound()
			r.needsAtOnce(2)
			r.running()
			r.grouped("j-0", 2)
			r.succeed("worker-0")
		}},
	{name: "gang_some_finished", job: []builder.JobOption{builder.Workers(3), builder.AllWorkers(), native},
		want: outcome{v1alpha1.PhaseSucceeded, v1alpha1.ReasonAllWorkersSucceeded, 0, 1, 1}, play: func(r *run) {
			r.running()
			r.finished("worker-1")
			r.exit(1, "worker-2")
			r.restarted(1)
			r.exit(0, "worker-0", "worker-2")
			r.phase(v1alpha1.PhaseSucceeded)
		}},
	{name: "gang_finished_while_one_waits", job: []builder.JobOption{builder.Workers(3), builder.AllWorkers(), native},
		want: outcome{v1alpha1.PhaseSucceeded, v1alpha1.ReasonAllWorkersSucceeded, 0, 1, 1}, play: func(r *run) {
			r.running()
			r.NoNodes = true
			r.exit(1, "worker-2")
			r.restarted(1)
			r.waits(v1alpha1.ReasonUnschedulable, "")
			r.finished("worker-1")
			r.NoNodes = false
			r.exit(0, "worker-0", "worker-2")
			r.phase(v1alpha1.PhaseSucceeded)
		}},
	{name: "gang_not_served", job: []builder.JobOption{pytorch, builder.Workers(2), native}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.Server.Unserved = map[server.Kind]bool{server.PodGroups: true} },
		play: func(r *run) {
			r.waits(v1alpha1.ReasonGangUnavailable, "")
			r.wait(time.Minute)
			if len(r.Pods()) > 0 {
				r.check.Violate("17 gang: there are pods, and no groups")
			}
			r.Server.Unserved = nil
			r.succeed("worker-0")
		}},
	{name: "gang_name_conflict", job: []builder.JobOption{pytorch, builder.Workers(2), native}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.CreateGroup("j-0") },
		play: func(r *run) {
			r.stalled(v1alpha1.ReasonNameConflict)
			if len(r.Pods()) > 0 {
				r.check.Violate("17 gang: the pods join a group of another owner")
			}
			r.DeleteGroup("j-0")
			r.succeed("worker-0")
		}},
	{name: "gang_leaves_a_rack", job: []builder.JobOption{pytorch, builder.Workers(2), native, builder.InDomain(), inPlace}, want: leaderSucceeded(1, 1, 0),
		before: twoRacks, play: func(r *run) {
			r.running()
			lost := r.pod("worker-1").Spec.NodeName
			r.FailNode(lost)
			r.restarted(1)
			r.running()
			if rack := r.Racks[r.pod("worker-0").Spec.NodeName]; rack == r.Racks[lost] {
				r.check.Violate("17 gang: worker-0 is in rack %s still, which has no room for both", rack)
			}
			r.succeed("worker-0")
		}},
	{name: "gang_stranded", job: []builder.JobOption{builder.Workers(2), native, builder.InDomain()}, want: leaderSucceeded(1, 2, 0),
		before: func(r *run) { twoRacks(r); r.NoImage["j-worker-1"] = true }, play: func(r *run) {
			r.until("one runs and the other has a node", func() bool {
				first, second := r.pod("worker-0"), r.pod("worker-1")
				return first != nil && first.Status.Phase == corev1.PodRunning && second != nil && second.Spec.NodeName != ""
			})
			r.DeleteNode(r.pod("worker-1").Spec.NodeName) // it is replaced alone, and the rack has no room for it
			r.restarted(2)
			r.NoImage["j-worker-1"] = false
			r.running()
			r.succeed("worker-0")
		}},
	{name: "gang_group_deleted", job: []builder.JobOption{builder.Workers(3), native}, want: leaderSucceeded(0, 1, 1),
		play: func(r *run) {
			r.running()
			r.DeleteGroup("j-0")
			r.exit(1, "worker-1") // it joins the group, which the others keep
			r.restarted(1)
			r.succeed("worker-0")
		}},
	{name: "gang_deleted", job: []builder.JobOption{builder.Workers(2), native}, want: gone, play: func(r *run) {
		r.running()
		r.DeleteJob("Background")
		r.until("gone", func() bool { return r.Job() == nil })
	}},
	{name: "gang_same_name_again", job: []builder.JobOption{builder.Workers(2), native}, want: leaderSucceeded(0, 0, 0),
		before: func(r *run) { r.Deaf["j-worker-1"] = true },
		play: func(r *run) {
			r.running()
			r.DeleteJob("Background")
			r.Submit(newJob(builder.Workers(2), native))
			r.wait(10 * time.Second)
			r.Deaf["j-worker-1"] = false
			r.succeed("worker-0")
		}},
}
