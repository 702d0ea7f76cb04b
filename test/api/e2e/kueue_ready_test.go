//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// readyTimeout is how long Kueue lets an admitted job take until it runs, and its back-off: lab up --pods-ready-timeout 20s.
const readyTimeout = 40 * time.Second

// mended takes away what keeps the workers from running.
const mended = `{"spec": {"replicaSpecs": {"Worker": {"template": {"metadata": {"annotations": null}}}}}}`

var _ = Describe("A job in a queue of Kueue whose pods do not run in time", Serial, Label("Kueue", "lab"), func() {
	var q *queue

	// isUncounted fails if the job has counted anything against the program.
	isUncounted := func(v *view) {
		GinkgoHelper()
		s := &v.job.Status
		v.is("nothing has failed", s.Attempt == 0 && s.Restarts == 0 && s.ChargedRestarts == 0 && s.LastFailure == nil && len(s.Incidents) == 0)
	}
	isBack := func(v *view) bool { return v.job.Spec.IsSuspended() && len(v.pods) == 0 }

	It("is evicted and queued again after a back-off, is charged nothing, and runs once its pods can", func() {
		q = newQueue(2)
		j := q.submit("stuck", 2, maxRestarts(0), gpuWorkers(2, doing("waiting", "ImagePullBackOff")))
		first := j.becomes("its pods wait for their image", func(v *view) bool { return len(v.pods) == 2 })
		other := q.submit("other", 2)
		other.waits(q)
		v := j.becomesWithin(readyTimeout, "Kueue has taken it back", isBack)
		isUncounted(v)
		Expect(j.queueSays("Evicted")).To(HaveField("Reason", "PodsReadyTimeout"))
		other.runs(0, 0)
		Expect(j.patched(mended)).To(Succeed())
		other.exits(0, "worker-0")
		other.succeeds()
		v = j.runs(0, 0)
		allReplaced(first, v)
		isUncounted(v)
		q.holds()
	})

	// Kueue frees the quota at once when it gives a job up, before the pods have ended.
	It("is given up at the limit of requeues, says so, has not failed, and runs when its user has mended it and resumes it", func() {
		q = newQueue(2)
		j := q.submit("hopeless", 2, maxRestarts(0), gpuWorkers(2, doing("waiting", "ImagePullBackOff")))
		v := j.becomesWithin(3*readyTimeout, "it says that Kueue has given it up", func(v *view) bool {
			return isBack(v) && containsAll(v.job.Status.Message, []string{"The workload is deactivated due to exceeding the maximum number of re-queuing retries"})
		})
		isUncounted(v)
		v.is("it is queued, and has not failed", v.job.Status.Phase == v1alpha1.PhaseQueued && !v.isTrue(v1alpha1.ConditionFinished))
		Expect(here.history.creations()).To(HaveLen(4), "the pods of two tries")
		j.tj("suspend")
		j.becomes("it says that it is suspended", func(v *view) bool {
			return containsAll(v.job.Status.Message, []string{"kubectl tj resume hopeless"})
		})
		Expect(j.patched(mended)).To(Succeed())
		j.tj("resume")
		isUncounted(j.runs(0, 0))
	})
})
