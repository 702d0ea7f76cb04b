package sim_test

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/world"
)

// holds are the stories of what a restart waits for and what ends the wait, and of where pods go afterwards.
var holds = slices.Concat([]scenario{
	// The time to save ends with the shorter of the two: the job's, and the grace period of the pod that is drained.
	savesWhileDrained("saves_for_the_rest_of_the_grace_period", 120, 20),
	savesWhileDrained("saves_for_the_time_of_the_job", 20, 120),
	// A rank has succeeded, so the end of another one waits for the leader, however it ended.
	endsAtTeardown("killed_at_teardown", 137),
	endsAtTeardown("aborted_at_teardown", 134),
	endsAtTeardown("exception_at_teardown", 1),
	// The restart for worker-1 waits for the image of worker-0. The deadlines of the job end the wait.
	endsWhileHeld("timeout_ends_a_hold", v1alpha1.ReasonSchedulingTimeout, builder.SchedulingTimeout(30)),
	endsWhileHeld("deadline_ends_a_hold", v1alpha1.ReasonDeadlineExceeded, builder.Deadline(30)),
	{name: "report_from_before_a_new_leader", want: leaderSucceeded(1, 1, 1), every: 3,
		job: []builder.JobOption{pytorch, builder.Workers(2), builder.Page(9500, 60, v1alpha1.StallRestart)}, play: func(r *run) {
			r.running()
			r.ReportByPage(7, false)
			r.within(85*time.Second, "the hang is found", func() {
				r.until("the step is known", func() bool { return r.Job().Status.Progress != nil && r.Job().Status.Progress.Step == 7 })
				r.wait(40 * time.Second)
				r.start(r.leader())
				r.restarted(1)
			})
			r.succeed("worker-0")
		}},
	{name: "request_ends_the_back_off_of_a_crash", job: []builder.JobOption{pytorch, builder.Workers(2), builder.BackOff(60, 300)}, want: leaderSucceeded(2, 2, 2), every: 3,
		play: func(r *run) {
			r.running()
			r.crash(2, "worker-1")
			r.wait(10 * time.Second)
			r.AskForRestart()
			r.within(25*time.Second, "the job runs again", func() { r.until("attempt 2 runs", func() bool { return r.isUp("j-worker-0-a2r0") }) })
			r.succeed("worker-0")
		}},
	{name: "request_leaves_the_back_off_of_a_request", want: leaderSucceeded(7, 7, 0), every: 5,
		job: []builder.JobOption{pytorch, builder.Workers(2), builder.BackOff(60, 300)},
		play: func(r *run) {
			for i := range int32(7) {
				r.running()
				r.AskForRestart()
				r.restarted(i + 1)
			}
			begin := r.Clock.Now() // it waits for 32 s
			r.wait(10 * time.Second)
			r.AskForRestart()
			r.until("attempt 7 runs", func() bool { return r.isUp("j-worker-0-a7r0") })
			if took := r.Clock.Since(begin); took < 20*time.Second { // an operator may have been frozen for ten seconds
				r.check.Violate("14 back-off: a request ended that of another one after %v", took)
			}
			r.succeed("worker-0")
		}},
	// Of three workers two are needed. One has succeeded, and the others have not run.
	{name: "elastic_lacks_a_worker_to_succeed", want: outcome{v1alpha1.PhaseSucceeded, v1alpha1.ReasonAllWorkersSucceeded, 0, 0, 0}, every: 3,
		job:    []builder.JobOption{pytorch, builder.Workers(3), builder.AllWorkers(), builder.Elastic(2, 4)},
		before: func(r *run) { r.Homeless["j-worker-1"], r.Homeless["j-worker-2"] = true, true },
		play: func(r *run) {
			r.exit(0, "worker-0")
			r.wait(30 * time.Second)
			if r.Job().Status.Phase == v1alpha1.PhaseSucceeded {
				r.check.Violate("13 success is not lost: one worker has succeeded, two are needed, and the job has succeeded")
			}
			delete(r.Homeless, "j-worker-1")
			r.exit(0, "worker-1")
			r.phase(v1alpha1.PhaseSucceeded)
		}},
	// A check takes 40 s and fails. It costs its replica no more than another node.
	{name: "check_fails_late", want: leaderSucceeded(0, 1, 0), every: 3,
		job:    []builder.JobOption{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(1), checked(v1alpha1.Worker), builder.StartupDeadline(20)},
		before: func(r *run) { r.Habits.Checking, r.Unstartable["j-worker-0"] = 80*time.Second, true }, play: func(r *run) {
			r.restarted(1)
			clear(r.Unstartable)
			r.running()
			r.succeed("master-0")
		}},
	// The pods of two workers fill a quota on count/pods, also when they have succeeded. Two are needed.
	{name: "elastic_fills_its_quota", want: outcome{v1alpha1.PhaseSucceeded, v1alpha1.ReasonAllWorkersSucceeded, 0, 0, 0}, every: 3,
		job: []builder.JobOption{pytorch, builder.Workers(3), builder.AllWorkers(), builder.Elastic(2, 4)},
		before: func(r *run) {
			r.Server.Admit = func(q *server.Request) error {
				if q.Verb != server.Create || q.Kind != server.Pods || len(r.Pods()) < 2 {
					return nil
				}
				return apierrors.NewForbidden(server.Pods.Resource(), q.Key.Name, errCountQuota)
			}
		},
		play: func(r *run) {
			up := func() []*corev1.Pod { // after an error any two of the three have the place
				return slices.DeleteFunc(r.Pods(), func(pod *corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning })
			}
			r.until("two workers run", func() bool { return len(up()) == 2 })
			for _, pod := range up() {
				r.Exit(pod, 0, "")
			}
			r.phase(v1alpha1.PhaseSucceeded)
		}},
	// A hang counts against the node of a rank that stacks blame, the second time, and else against none.
	hangsTwice("hangs_that_blame_a_rank", world.Reading{After: time.Second, Pages: map[string]string{"worker-2": world.Reads}}, 1),
	hangsTwice("hangs_that_blame_no_rank", world.Reading{After: time.Hour}, 0),
	losesRack("rack_lost", func(*run) {}),
	losesRack("rack_lost_after_a_peer_ends", func(r *run) { r.exit(1, "worker-0") }),
	{name: "silent_node_beside_nodes_that_are_off", job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(1, 1, 0), every: 3,
		before: func(r *run) {
			for i := 3; i < 6; i++ {
				r.AddNode(fmt.Sprintf("node-%d", i))
			}
			r.Tick(moment) // all renew their Leases once
			r.FailNode("node-3")
			r.FailNode("node-4")
			r.Clock.Pass(2 * time.Hour)
		},
		play: func(r *run) { r.restartsWithout("worker-1", 50*time.Second) }},
	// The node of worker-1 and worker-4 is drained, one pod after the other. Both leave in one restart.
	{name: "drained_one_by_one_in_place", job: []builder.JobOption{pytorch, builder.Workers(5), inPlace}, want: leaderSucceeded(1, 1, 0), every: 5,
		play: func(r *run) {
			r.running()
			node := r.pod("worker-1").Spec.NodeName
			r.Cordon(node, true)
			r.wait(10 * time.Second)
			r.Drain(world.User, r.pod("worker-1"), "EvictionByEvictionAPI")
			r.restarted(1)
			r.wait(20 * time.Second)
			for _, pod := range r.Pods() {
				if pod.Spec.NodeName == node && pod.DeletionTimestamp == nil && !world.IsOver(pod) {
					r.Drain(world.User, pod, "EvictionByEvictionAPI")
				}
			}
			r.wait(20 * time.Second)
			r.succeed("worker-0")
		}},
}, checks())

// savesWhileDrained evicts a rank that ignores SIGTERM, and lets no rank answer the request to save. The wait lasts 20 s.
func savesWhileDrained(name string, asking int32, grace int64) scenario {
	patient := builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) { pod.TerminationGracePeriodSeconds = ptr.To(grace) }))
	return scenario{name: name, job: []builder.JobOption{pytorch, builder.Workers(2), builder.Asking(asking), patient}, want: leaderSucceeded(1, 1, 0), every: 3,
		play: func(r *run) {
			r.running()
			r.Deaf["j-worker-1"] = true
			r.Drain(world.User, r.pod("worker-1"), "EvictionByEvictionAPI")
			r.promptlyAfter(15*time.Second, 25*time.Second, "the wait for a checkpoint ends", func() { r.restarted(1) })
			clear(r.Deaf)
			r.succeed("worker-0")
		}}
}

// promptlyAfter does the same as promptly, and the wait has to last for some time.
func (r *run) promptlyAfter(least, most time.Duration, what string, wait func()) {
	begin := r.Clock.Now()
	r.promptly(most, what, wait)
	if took := r.Clock.Since(begin); took < least {
		r.check.Violate("27 deadlines come: until %s it took %v, less than %v", what, took, least)
	}
}

// endsAtTeardown ends a rank in the moment after another one has succeeded, and before the leader does.
func endsAtTeardown(name string, code int32) scenario {
	return scenario{name: name, job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(0, 0, 0), every: 2, play: func(r *run) {
		r.running()
		r.exit(0, "worker-2")
		r.exit(code, "worker-1")
		r.operate()
		r.exit(0, "worker-0")
		r.phase(v1alpha1.PhaseSucceeded)
	}}
}

// endsWhileHeld has the job end, for the reason, while a restart waits for a member that is still starting, and another one has no node.
func endsWhileHeld(name, reason string, limit builder.JobOption) scenario {
	return scenario{name: name, job: []builder.JobOption{pytorch, builder.Workers(3), limit}, want: failed(reason, 0, 0, 0), every: 2,
		before: func(r *run) { r.NoImage["j-worker-0"], r.Homeless["j-worker-2"] = true, true }, play: func(r *run) {
			r.exit(1, "worker-1")
			r.within(50*time.Second, "the job fails", func() { r.phase(v1alpha1.PhaseFailed) })
		}}
}

// hangsTwice has a job hang twice on the one node that there is, and asks how many nodes it avoids then.
func hangsTwice(name string, stacks world.Reading, avoided int) scenario {
	return scenario{name: name, want: leaderSucceeded(2, 2, 2), every: 5,
		job:    []builder.JobOption{pytorch, builder.Workers(4), builder.Page(9500, 20, v1alpha1.StallRestart)},
		before: func(r *run) { r.DeleteNode("node-1"); r.DeleteNode("node-2") }, play: func(r *run) {
			r.Reading = stacks
			for i := range int32(2) {
				r.until("the attempt runs", func() bool { return r.Job().Status.Attempt == i })
				r.running()
				r.ReportByPage(7, false)
				r.restarted(i + 1)
			}
			r.running()
			if list := r.Job().Status.AvoidedNodes; len(list) != avoided {
				r.check.Violate("22 blame is true: the job avoids %+v after two hangs", list)
			}
			r.succeed("worker-0")
		}}
}

// losesRack cuts off two nodes in one moment. The job avoids both.
func losesRack(name string, peers func(*run)) scenario {
	return scenario{name: name, job: []builder.JobOption{pytorch, builder.Workers(3)}, want: leaderSucceeded(1, 1, 0), every: 3,
		before: func(r *run) {
			for i := 3; i < 7; i++ {
				r.AddNode(fmt.Sprintf("node-%d", i))
			}
		},
		play: func(r *run) {
			r.running()
			rack := []string{r.pod("worker-1").Spec.NodeName, r.pod("worker-2").Spec.NodeName}
			for _, node := range rack {
				r.SilenceNode(node, 5*time.Second)
			}
			peers(r)
			r.restarted(1)
			r.wait(time.Minute)
			for _, node := range rack {
				if !slices.ContainsFunc(r.Job().Status.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return n.Name == node }) {
					r.check.Violate("22 blame is true: %v are lost at once, and the job does not avoid %s", rack, node)
				}
			}
			r.succeed("worker-0")
			for _, node := range rack {
				r.ReviveNode(node)
			}
		}}
}

// checks are the stories of pods with preflight checks, in a job that restarts in place: after a fault of a node all nodes have to pass again.
func checks() (list []scenario) {
	breakNode := func(r *run) { r.FailNode(r.pod("worker-1").Spec.NodeName) }
	anew, kept := []string{"j-worker-0-a1r0", "j-worker-1-a1r0", "j-worker-2-a1r0"}, []string{"j-worker-0", "j-worker-1-a1r0", "j-worker-2"}
	for _, c := range []struct {
		name    string
		option  builder.JobOption
		end     func(*run)
		charged int32
		pods    []string
	}{
		{"checked_again_after_a_lost_node", checked(v1alpha1.Worker), breakNode, 0, anew},
		{"unchecked_after_a_lost_node", quick, breakNode, 0, kept},
		{"checked_once_before_an_exit", checked(v1alpha1.Worker), func(r *run) { r.exit(1, "worker-1") }, 1, kept},
	} {
		list = append(list, scenario{name: c.name, job: []builder.JobOption{pytorch, builder.Workers(3), inPlace, c.option}, want: leaderSucceeded(1, 1, c.charged), every: 5,
			play: func(r *run) {
				r.running()
				c.end(r)
				r.restarted(1)
				r.wait(2 * time.Minute) // the pod on the lost node is gone
				r.running()
				r.goOnInPlace(c.pods...)
				r.succeed("worker-0")
			}})
	}
	return list
}
