//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("Budget", func() {
	// #2045 #2342 #1589: recreated pods reset the count, so the limit was never reached.
	It("fails the job at one failure more than maxRestarts, whatever became of the old pods #2045 #2342 #1589", promise, func() {
		j := submit(tensorflow("t", maxRestarts(2), chief(), ps(1), workers(2)))
		j.runs(0, 0)
		j.exits(1, "worker-0")
		j.runs(0, 1)
		Expect(kube.DeleteAllOf(here.ctx, &corev1.Pod{}, inPhase(corev1.PodFailed)...)).To(Succeed())
		j.becomes("the failed pod is gone", func(v *view) bool { return len(v.pods) == 4 })
		j.waitsOutIncident()
		j.exits(1, "worker-1")
		j.runs(0, 2)
		j.waitsOutIncident()
		j.exits(1, "worker-0")
		v := j.fails(v1alpha1.ReasonMaxRestartsExceeded)
		v.is("two restarts were charged", v.job.Status.Restarts == 2 && v.job.Status.ChargedRestarts == 2)
	})

	// #1749 #2220: nothing said which replica failed, where, with which exit code.
	It("says which replica failed, where and how #1749 #2220", promise, func() {
		j := submit(pytorch("p", maxOOMRestarts(0), master(), workers(2)))
		j.runs(0, 0)
		pod := j.pod("worker-1")
		j.does(map[string]any{"exit-code": "137", "exit-reason": "OOMKilled", "exit-message": "no memory for batch 7"}, "worker-1")
		f := j.fails(v1alpha1.ReasonMaxRestartsExceeded).job.Status.LastFailure
		f.Time.Time = time.Time{}
		Expect(f).To(Equal(&v1alpha1.Failure{
			Role: v1alpha1.Worker, Index: 1, Cause: v1alpha1.CauseOOM, Pod: pod.Name, Node: pod.Spec.NodeName,
			ExitCode: ptr.To[int32](137), Reason: "OOMKilled", Message: "no memory for batch 7",
		}))
		j.tells(v1alpha1.ConditionFailed, "worker-1", pod.Spec.NodeName, "137", "no memory for batch 7")
		j.leaves("worker-1 Failed")
	})
})
