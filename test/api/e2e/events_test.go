//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("Events", func() {
	It("tell each transition once, with replica, node and exit code", promise, func() {
		j := submit(everyRole())
		j.runs(0, 0)
		worker := j.pod("worker-1")
		j.exits(137, "worker-1")
		j.runs(0, 1)
		server := j.pod("ps-1")
		j.exits(1, "ps-1")
		j.runs(1, 2)
		j.exits(0, "chief-0")
		j.succeeds()
		j.tells(v1alpha1.EventReplicaRestarting, "worker-1", worker.Spec.NodeName, "137", "only this replica is replaced")
		j.tells(v1alpha1.EventRestarting, "ps-1", server.Spec.NodeName, "code 1", "attempt 1")
		j.told(v1alpha1.EventReplicaRestarting, 1)
		j.told(v1alpha1.EventRestarting, 1)
		j.told(v1alpha1.ConditionSucceeded, 1)
		j.told(v1alpha1.ConditionFailed, 0)
		j.told(v1alpha1.ConditionStalled, 0)
	})

	It("of two replicas that die at different times are two, each with its own replica", func() {
		j := submit(everyRole())
		j.runs(0, 0)
		j.exits(137, "worker-0")
		j.runs(0, 1)
		j.exits(143, "worker-2")
		j.runs(0, 2)
		j.tells(v1alpha1.EventReplicaRestarting, "worker-0", "137")
		j.tells(v1alpha1.EventReplicaRestarting, "worker-2", "143")
		j.told(v1alpha1.EventReplicaRestarting, 2)
	})
})

var _ = Describe("Status", func() {
	It("says the same in phase, conditions and the table of kubectl get", promise, func() {
		j := submit(tensorflow("t", chief(), ps(1), workers(2)))
		j.runs(0, 0)
		v := j.becomes("its status counts all replicas", func(v *view) bool { return v.job.Status.Ready == "4/4" })
		s := &v.job.Status
		Expect(s.StartTime).NotTo(BeNil())
		Expect(s.RunningTime).NotTo(BeNil())
		Expect(s.Ready).To(Equal("4/4"))
		Expect(s.Reason).To(Equal(v1alpha1.ReasonAllReplicasRunning))
		for _, condition := range []string{v1alpha1.ConditionCreated, v1alpha1.ConditionScheduled, v1alpha1.ConditionRunning} {
			v.is(condition+" is True", v.isTrue(condition))
		}
		v.is("there is no condition Ready", v.condition("Ready").Type == "")
		Expect(s.ReplicaStatuses[v1alpha1.Worker].RestartScope).To(Equal(v1alpha1.ScopeReplica))
		Expect(s.ReplicaStatuses[v1alpha1.PS].RestartScope).To(Equal(v1alpha1.ScopeJob))
		j.exits(0, "chief-0")
		j.succeeds()
		v = j.becomes("no pod is active", func(v *view) bool { return active(v) == 0 })
		Expect(v.job.Status.Ready).To(Equal("-"))
	})
})
