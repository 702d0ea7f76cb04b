//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Ranks that still run when the job succeeds may be writing their part of the last checkpoint.
var _ = Describe("When a job succeeds, ranks that still run", func() {
	It("may end by themselves for runPolicy.finishGraceSeconds, and are cleaned up then", promise, func() {
		j := submit(pytorch("p", finishGrace(5), master(), workers(2)))
		before := j.runs(0, 0)
		j.exits(0, "master-0")
		succeeded := j.succeeds().job.Status.CompletionTime.Time
		j.exits(0, "worker-0")
		j.leaves("master-0 Succeeded", "worker-0 Succeeded")
		asked, _ := here.history.ending(before.pod("worker-1").UID)
		Expect(asked.Sub(succeeded)).To(And(BeNumerically(">=", 5*time.Second), BeNumerically("<=", 15*time.Second)), "from success to the deletion of worker 1")
		here.created(3)
	})

	It("are not waited for when all have ended: the parameter servers go at once", func() {
		j := submit(tensorflow("t", finishGrace(600), chief(), ps(1), workers(2)))
		j.runs(0, 0)
		j.exits(0, "chief-0")
		j.succeeds()
		othersRun := func(v *view) bool { return v.slots(corev1.PodRunning) == "ps-0 worker-0 worker-1" }
		j.becomes("the phase of the chief's pod follows, and the others run", othersRun)
		j.stays("the others run", othersRun)
		j.exits(0, "worker-0", "worker-1")
		j.leaves("chief-0 Succeeded", "worker-0 Succeeded", "worker-1 Succeeded")
	})

	It("may fail: the job has succeeded, and nothing is restarted", func() {
		j := submit(pytorch("p", finishGrace(600), master(), workers(2)))
		j.runs(0, 0)
		j.exits(0, "master-0")
		j.succeeds()
		j.exits(1, "worker-0", "worker-1")
		j.leaves("master-0 Succeeded", "worker-0 Failed", "worker-1 Failed")
		v := j.look()
		v.is("it has succeeded and tells of no failure", v.job.Status.Phase == v1alpha1.PhaseSucceeded && v.job.Status.Restarts == 0 && v.job.Status.LastFailure == nil)
		here.created(3)
	})
})
