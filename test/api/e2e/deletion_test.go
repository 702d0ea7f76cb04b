//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("Deletion", func() {
	DescribeTable("leaves no child and makes none", promise, func(cascade metav1.DeletionPropagation) {
		j := submit(pytorch("p", master(), workers(3, doing("terminate-after", "1s"))))
		j.runs(0, 0)
		j.delete(cascade)
		j.isGone()
		here.created(4)
	},
		Entry("in the foreground", metav1.DeletePropagationForeground),
		Entry("in the background", metav1.DeletePropagationBackground),
	)

	It("that orphans leaves the pods running, controlled by nobody, and makes none", func() {
		j := submit(pytorch("p", workers(2)))
		before := j.runs(0, 0)
		j.delete(metav1.DeletePropagationOrphan)
		Eventually(func() *v1alpha1.TrainingJob { return j.look().job }).Should(BeNil())
		Consistently(func(g Gomega) {
			v := j.look()
			g.Expect(podUIDs(v)).To(ConsistOf(podUIDs(before)), "the pods are those of before")
			for i := range v.pods {
				g.Expect(v.pods[i].Status.Phase).To(Equal(corev1.PodRunning))
				g.Expect(metav1.GetControllerOf(&v.pods[i])).To(BeNil())
			}
		}).Should(Succeed())
		here.created(2)
	})

	It("followed at once by a job of the same name: that inherits nothing, waits for the old pods, then runs", promise, func() {
		old := submit(pytorch("p", workers(2, doing("terminate-after", "1s"))))
		old.runs(0, 0)
		old.exits(137, "worker-1")
		before := old.runs(1, 1)
		old.delete(metav1.DeletePropagationBackground)
		j := submit(pytorch("p", maxRestarts(0), workers(2)))
		v := j.runs(0, 0)
		v.is("it is another job", v.job.UID != before.job.UID)
		v.is("nothing is charged to it", v.job.Status.ChargedRestarts == 0 && v.job.Status.LastFailure == nil)
		j.stays("it runs", func(v *view) bool { return v.job.Status.Phase == v1alpha1.PhaseRunning })
	})
})

// podUIDs returns the UIDs of the view's pods, whoever controls them.
func podUIDs(v *view) []types.UID {
	var uids []types.UID
	for i := range v.pods {
		uids = append(uids, v.pods[i].UID)
	}
	return uids
}
