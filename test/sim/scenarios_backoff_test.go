package sim_test

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/world"
)

// calledLoss says that the program's own exit is the infrastructure's fault, whatever Kubernetes says.
var calledLoss = builder.Rules(v1alpha1.RecoveryRule{ExitCodes: []int32{1}, Cause: v1alpha1.CauseInfrastructure})

// rows are the stories of jobs that are restarted many times in a row.
var rows = []scenario{
	{name: "steady_losses", job: []builder.JobOption{builder.Workers(12)}, want: leaderSucceeded(0, 11, 0), every: 41,
		play: func(r *run) {
			r.running()
			for i := range int32(11) {
				r.DeletePod(world.User, r.pod(fmt.Sprintf("worker-%d", i+1)))
				r.restarted(i + 1)
				r.wait(12 * time.Second)
			}
			r.within(30*time.Second, "all that were lost are back", r.running)
			r.succeed("worker-0")
		}},
	{name: "a_crash_loop_beside_a_loss", job: []builder.JobOption{builder.Workers(3), builder.BackOff(60, 300)}, want: leaderSucceeded(0, 4, 3), every: 7,
		play: func(r *run) {
			r.running()
			r.crash(3, "worker-1")
			r.DeletePod(world.User, r.pod("worker-2"))
			r.restarted(4)
			r.within(30*time.Second, "the lost one is back", func() {
				r.until("worker-2 runs", func() bool { return r.pod("worker-2") != nil && r.Job().Status.Ready == "2/3" })
			})
			r.succeed("worker-0")
		}},
	// A bug ends each attempt at the same line, on two nodes: the fourth such crash fails the job, and no node stays blamed.
	{name: "the_same_crash_again_and_again", job: []builder.JobOption{pytorch, builder.Workers(2), builder.BackOff(1, 1)}, want: failed(v1alpha1.ReasonNoProgress, 3, 3, 3), every: 3,
		before: func(r *run) { r.DeleteNode("node-2") }, // so that one of two nodes sees two crashes
		play: func(r *run) {
			for i := range int32(4) {
				r.until("the attempt runs", func() bool { return r.Job().Status.Attempt == i })
				r.running()
				if list := r.Job().Status.AvoidedNodes; i == 3 && len(list) == 0 {
					r.check.Violate("22 blame is true: no node is avoided after three crashes on two nodes")
				}
				r.Exit(r.pod("worker-1"), 1, "Traceback (most recent call last):\n  File \"/train.py\", line 9, in main\nValueError: batch 17 is empty\nwandb: done")
			}
			r.phase(v1alpha1.PhaseFailed)
			if list := r.Job().Status.AvoidedNodes; len(list) > 0 {
				r.check.Violate("22 blame is true: the job avoids %+v for a bug of its program", list)
			}
		}},
	{name: "a_crash_loop_that_a_rule_calls_a_loss", job: []builder.JobOption{builder.Workers(2), builder.BackOff(0, 300), calledLoss},
		want: leaderSucceeded(0, 8, 0), every: 23,
		play: func(r *run) {
			r.running()
			begin := r.Clock.Now()
			r.crash(8, "worker-1")
			r.running()
			if took, least := r.Clock.Since(begin), (0+1+2+4+8+16+32+64)*time.Second; took < least {
				r.check.Violate("14 back-off: 8 restarts in a row took %v, less than %v", took, least)
			}
			r.succeed("worker-0")
		}},
	{name: "a_hundred_losses_that_a_rule_makes", job: []builder.JobOption{builder.Workers(2), builder.BackOff(0, 1), calledLoss},
		want: failed(v1alpha1.ReasonMaxRestartsExceeded, 0, 100, 0), every: 997,
		play: func(r *run) {
			r.running()
			r.crash(100, "worker-1")
			r.exit(1, "worker-1")
			r.phase(v1alpha1.PhaseFailed)
		}},
}

// crash lets the slot's process fail so many times, each as soon as it runs.
func (r *run) crash(times int, slot string) {
	for range times {
		before := r.Job().Status.Restarts
		r.exit(1, slot)
		r.restarted(before + 1)
	}
}

// within holds against the clock how long it takes until the wait is over.
func (r *run) within(most time.Duration, what string, wait func()) {
	begin := r.Clock.Now()
	wait()
	if took := r.Clock.Since(begin); took > most {
		r.check.Violate("14 back-off: until %s it took %v, more than %v", what, took, most)
	}
}
