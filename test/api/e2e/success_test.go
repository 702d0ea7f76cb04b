//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("Success", func() {
	DescribeTable("by the policy Leader is that of", promise, func(leader string, build func() *v1alpha1.TrainingJob) {
		j := submit(build())
		j.runs(0, 0)
		j.exits(0, leader)
		v := j.succeeds()
		v.is("its reason is LeaderSucceeded", v.job.Status.Reason == v1alpha1.ReasonLeaderSucceeded)
		j.leaves(leader + " Succeeded")
	},
		Entry("the chief", "chief-0", func() *v1alpha1.TrainingJob { return tensorflow("t", chief(), ps(1), workers(2)) }),
		Entry("the master", "master-0", func() *v1alpha1.TrainingJob { return pytorch("p", master(), workers(2)) }),
		Entry("worker 0, if there is no leader", "worker-0", func() *v1alpha1.TrainingJob { return jax("x", workers(3)) }),
	)

	It("is not that of a worker, if a chief leads", func() {
		j := submit(tensorflow("t", chief(), ps(1), workers(2)))
		j.runs(0, 0)
		j.exits(0, "worker-0", "worker-1")
		j.becomes("both workers have succeeded", func(v *view) bool { return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Succeeded == 2 })
		j.stays("it runs", func(v *view) bool { return v.job.Status.Phase == v1alpha1.PhaseRunning })
		j.exits(0, "chief-0")
		j.succeeds()
	})

	It("by the policy AllWorkers is that of the leader and every worker", func() {
		j := submit(pytorch("p", allWorkers, master(), workers(2)))
		j.runs(0, 0)
		j.exits(0, "master-0", "worker-1")
		j.becomes("two have succeeded", func(v *view) bool {
			return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Succeeded+v.job.Status.ReplicaStatuses[v1alpha1.Master].Succeeded == 2
		})
		j.stays("it is not finished", func(v *view) bool { return !v.isTrue(v1alpha1.ConditionFinished) })
		j.exits(0, "worker-0")
		v := j.succeeds()
		v.is("its reason is AllWorkersSucceeded", v.job.Status.Reason == v1alpha1.ReasonAllWorkersSucceeded)
		j.leaves("master-0 Succeeded", "worker-0 Succeeded", "worker-1 Succeeded")
	})

	It("is final, whatever its pods do afterwards: never Succeeded and Failed together", func() {
		j := submit(pytorch("p", cleaning(v1alpha1.CleanNone), master(), workers(2)))
		j.runs(0, 0)
		j.exits(0, "master-0")
		j.succeeds()
		j.exits(1, "worker-0", "worker-1")
		j.stays("it has succeeded", func(v *view) bool {
			return v.isTrue(v1alpha1.ConditionSucceeded) && !v.isTrue(v1alpha1.ConditionFailed) && v.job.Status.Restarts == 0
		})
	})
})

// #877 #1579: logs deleted whatever the policy says, or the others left burning GPUs.
var _ = Describe("Clean-up #877 #1579", func() {
	DescribeTable("after success", func(policy v1alpha1.CleanPodPolicy, left ...string) {
		j := submit(tensorflow("t", cleaning(policy), chief(), ps(1), workers(2)))
		j.runs(0, 0)
		j.exits(0, "worker-0")
		j.becomes("worker 0 has succeeded", func(v *view) bool { return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Succeeded == 1 })
		j.exits(0, "chief-0")
		j.succeeds()
		j.leaves(left...)
	},
		Entry("Running keeps the pods that ended", v1alpha1.CleanRunning, "chief-0 Succeeded", "worker-0 Succeeded"),
		Entry("None keeps all pods", v1alpha1.CleanNone, "chief-0 Succeeded", "ps-0 Running", "worker-0 Succeeded", "worker-1 Running"),
		Entry("All keeps none", v1alpha1.CleanAll),
	)

	DescribeTable("after failure", promise, func(policy v1alpha1.CleanPodPolicy, left ...string) {
		j := submit(tensorflow("t", cleaning(policy), chief(), ps(1), workers(2, restarting(v1alpha1.RestartNever))))
		j.runs(0, 0)
		j.exits(3, "worker-1")
		j.fails(v1alpha1.ReasonFatalExit)
		j.leaves(left...)
	},
		Entry("Running keeps the pod that failed, for its log", v1alpha1.CleanRunning, "worker-1 Failed"),
		Entry("None keeps all pods", v1alpha1.CleanNone, "chief-0 Running", "ps-0 Running", "worker-0 Running", "worker-1 Failed"),
		Entry("All keeps none", v1alpha1.CleanAll),
	)

	It("keeps the pod that an earlier restart began with, for its log, and deletes it with the job", func() {
		j := submit(tensorflow("t", chief(), ps(1), workers(2)))
		j.runs(0, 0)
		j.exits(137, "worker-1")
		v := j.runs(0, 1)
		v.is("the failed pod and its successor are there", len(v.pods) == 5)
		v.is("the failed pod is the first failure's", v.job.Status.LastFailure.Pod == "t-worker-1")
	})
})
