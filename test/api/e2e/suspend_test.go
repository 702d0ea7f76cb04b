//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

func active(v *view) int32 {
	var sum int32
	for _, role := range v.job.Status.ReplicaStatuses {
		sum += role.Active
	}
	return sum
}

var _ = Describe("Suspension", func() {
	// Kueue KEP-10076: active=0 was reported while pods still ran, and the queue gave their GPUs away.
	It("reports active 0 only when the pods are gone, and counts no failure (Kueue KEP-10076)", promise, func() {
		j := submit(pytorch("p", maxRestarts(0), master(), workers(2, doing("terminate-after", "1500ms"))))
		j.runs(0, 0)
		j.suspend()
		v := j.becomes("it is suspended and its pods are ending", func(v *view) bool { return v.isTrue(v1alpha1.ConditionSuspended) && len(v.pods) > 0 })
		v.is("they count as active", active(v) > 0)
		v = j.becomes("active is 0", func(v *view) bool { return active(v) == 0 })
		v.is("the pods are gone", len(v.pods) == 0)
		v.is("nothing failed", v.job.Status.Restarts == 0 && v.job.Status.LastFailure == nil && v.job.Status.Phase == v1alpha1.PhaseSuspended)
		j.leaves()
	})

	// #3666: the phase still said Suspended while the job ran.
	It("ends when the job is resumed: the phase says Running, counters and attempt are kept #3666", promise, func() {
		j := submit(pytorch("p", workers(2)))
		j.runs(0, 0)
		j.exits(137, "worker-1")
		j.runs(1, 1)
		j.suspend()
		j.reaches(v1alpha1.PhaseSuspended)
		j.resume()
		v := j.runs(1, 1)
		v.is("the restart is still charged", v.job.Status.ChargedRestarts == 1)
		v.is("it is no longer suspended", !v.isTrue(v1alpha1.ConditionSuspended))
		j.tells(v1alpha1.ConditionSuspended)
		j.tells(v1alpha1.EventResumed)
	})

	It("resumed before the pods have ended waits for them, and takes none of them for a failure", func() {
		j := submit(pytorch("p", maxRestarts(0), workers(2, doing("terminate-after", "1500ms"))))
		before := j.runs(0, 0)
		j.suspend()
		j.becomes("its pods are ending", func(v *view) bool {
			return v.isTrue(v1alpha1.ConditionSuspended) && len(v.pods) > 0 && v.slots(corev1.PodRunning) == ""
		})
		j.resume()
		allReplaced(before, j.runs(0, 0))
	})

	It("lets the templates change, and the new ones run", func() {
		j := submit(pytorch("p", workers(2)))
		j.runs(0, 0)
		j.suspend()
		j.becomes("it rests", func(v *view) bool { return v.isTrue(v1alpha1.ConditionSuspended) && len(v.pods) == 0 })
		j.change(func(job *v1alpha1.TrainingJob) {
			workers(3, func(r *v1alpha1.ReplicaSpec) { r.Template.Spec.Containers[0].Image = "example.test/train:2" })(job)
		})
		j.resume()
		v := j.runs(0, 0)
		v.is("there are three workers", len(v.pods) == 3)
		for i := range v.pods {
			Expect(v.pods[i].Spec.Containers[0].Image).To(Equal("example.test/train:2"))
			Expect(ledger.Env(&v.pods[i])).To(HaveKeyWithValue("WORLD_SIZE", "3"))
		}
	})

	It("of a job that is created suspended means that nothing is created until it is resumed", func() {
		j := submit(pytorch("p", suspended, workers(2)))
		v := j.reaches(v1alpha1.PhaseSuspended)
		v.is("it has not started", v.job.Status.StartTime == nil)
		j.stays("there is nothing", func(v *view) bool {
			return len(v.pods) == 0 && apierrors.IsNotFound(kube.Get(here.ctx, j.key(), &corev1.Service{}))
		})
		j.resume()
		j.runs(0, 0)
	})

	It("does not make a replica run again that has succeeded", func() {
		j := submit(tensorflow("t", chief(), ps(1), workers(2)))
		j.runs(0, 0)
		j.exits(0, "worker-1")
		j.becomes("worker 1 has succeeded", func(v *view) bool { return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Succeeded == 1 })
		j.suspend()
		j.becomes("it rests", func(v *view) bool { return v.isTrue(v1alpha1.ConditionSuspended) && active(v) == 0 })
		j.resume()
		j.becomes("the others run", func(v *view) bool {
			return v.job.Status.Phase == v1alpha1.PhaseRunning && v.slots(corev1.PodRunning) == "chief-0 ps-0 worker-0"
		})
	})
})
