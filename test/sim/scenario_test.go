package sim_test

import (
	"testing"
	"time"

	"github.com/trainingjob/operator/test/sim/builder"
)

// TestScenarios plays each scenario as it is.
func TestScenarios(t *testing.T) {
	begin := time.Now()
	for i := range scenarios {
		s := &scenarios[i]
		t.Run(s.name, func(t *testing.T) {
			r := s.check(t, nothing{})
			if n := r.check.Untold(); n > 0 && r.starts == 0 {
				t.Errorf("the log does not have %d restarts", n)
			}
		})
	}
	t.Logf("%d runs, %v", len(scenarios), time.Since(begin).Round(time.Millisecond))
}

// The other nodes are full, so a new pod must use the silent one. It waits there until Kubernetes marks the node.
func TestANewPodOnASilentNodeIsLostWithTheNode(t *testing.T) {
	s := scenario{name: "silent_node_is_all_there_is", job: []builder.JobOption{pytorch, builder.Workers(5)}, want: leaderSucceeded(1, 1, 0), play: func(r *run) {
		r.Room = 2
		r.running()
		r.SilenceNode(r.pod("worker-2").Spec.NodeName, time.Minute)
		r.exit(1, "worker-1")
		r.restarted(1)
		r.wait(30 * time.Second)
		if n := r.Job().Status.Restarts; n != 1 {
			r.check.Violate("the job has restarted %d times before Kubernetes marks the node", n)
		}
		r.Room = 0
		r.running()
		r.succeed("worker-0")
	}}
	s.check(t, nothing{})
}
