//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// #877 #1579: logs deleted whatever the policy says, or the others left burning GPUs.
var _ = Describe("The end of a job #877 #1579", promise, func() {
	It("is the leader's success, and leaves what has ended, for its log", func() {
		j := submit(tensorflow("t", chief(), ps(1), workers(2)))
		j.runs(0, 0)
		j.exits(0, "worker-0")
		j.becomes("worker 0 has succeeded", func(v *view) bool { return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Succeeded == 1 })
		j.exits(0, "chief-0")
		v := j.succeeds()
		v.is("its reason is LeaderSucceeded", v.job.Status.Reason == v1alpha1.ReasonLeaderSucceeded)
		j.leaves("chief-0 Succeeded", "worker-0 Succeeded")
	})

	It("is a permanent exit code, and leaves the pod that failed, for its log", func() {
		j := submit(tensorflow("t", chief(), ps(1), workers(2, restarting(v1alpha1.RestartNever))))
		j.runs(0, 0)
		j.exits(3, "worker-1")
		v := j.fails(v1alpha1.ReasonFatalExit)
		v.is("nothing was restarted", v.job.Status.Restarts == 0)
		j.leaves("worker-1 Failed")
	})
})
