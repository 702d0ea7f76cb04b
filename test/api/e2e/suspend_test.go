//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

func active(v *view) int32 {
	var sum int32
	for _, role := range v.job.Status.ReplicaStatuses {
		sum += role.Active
	}
	return sum
}

var _ = Describe("Suspension", func() {
	// Kueue KEP-10076: active=0 was reported while pods still ran, and the queue gave their GPUs away. #3666: the phase still said
	// Suspended while the job ran.
	It("reports active 0 only when no pod can run; resumed, the job runs on with its counts (Kueue KEP-10076, #3666)", promise, func() {
		j := submit(pytorch("p", maxRestarts(1), master(), workers(2, doing("terminate-after", "1500ms"))))
		j.runs(0, 0)
		j.exits(137, "worker-1")
		j.runs(1, 1)
		j.suspend()
		v := j.becomes("it is suspended and its pods are ending", func(v *view) bool { return v.isTrue(v1alpha1.ConditionSuspended) && len(v.pods) > 0 })
		v.is("they count as active", active(v) > 0)
		v = j.becomes("active is 0", func(v *view) bool { return active(v) == 0 })
		v.is("no pod can run, and the log of the failure stays", v.haveEnded() && v.slots(corev1.PodFailed) == "worker-1")
		v.is("the phase says so", v.job.Status.Phase == v1alpha1.PhaseSuspended)
		j.leaves("worker-1 Failed")
		j.resume()
		v = j.runs(1, 1)
		v.is("the restart is still charged, and nothing more", v.job.Status.ChargedRestarts == 1)
		v.is("it is no longer suspended", !v.isTrue(v1alpha1.ConditionSuspended))
		j.tells(v1alpha1.ConditionSuspended)
		j.tells(v1alpha1.EventResumed)
	})
})
