//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// isGone waits until nothing is left of the job: no job, pod or Service.
func (j *submitted) isGone() {
	GinkgoHelper()
	var v *view
	var services corev1.ServiceList
	Eventually(func() bool {
		v = j.look()
		Expect(kube.List(here.ctx, &services, client.InNamespace(here.namespace))).To(Succeed())
		return v.job == nil && len(v.pods) == 0 && len(services.Items) == 0
	}).Should(BeTrue(), func() string { return "nothing is left of " + j.name + "\n" + v.String() })
}

var _ = Describe("Deadlines", func() {
	// #3358: the deadline never fired without another event.
	It("activeDeadlineSeconds fails the job with nothing else happening #3358", promise, func() {
		j := submit(pytorch("p", activeDeadline(8), workers(2)))
		j.becomes("it has run", func(v *view) bool { return v.job.Status.RunningTime != nil })
		v := j.fails(v1alpha1.ReasonDeadlineExceeded)
		took := v.job.Status.CompletionTime.Sub(v.job.Status.StartTime.Time)
		Expect(took).To(BeNumerically(">=", 8*time.Second))
		Expect(took).To(BeNumerically("<=", 16*time.Second))
		j.leaves()
	})

	// #2981 #3779 #3737: the time to live deleted the child, and the parent ran the job again.
	It("ttlSecondsAfterFinished deletes a job that succeeded with all its children, and nothing runs again #2981 #3779 #3737", promise, func() {
		j := submit(pytorch("p", timeToLive(2), cleaning(v1alpha1.CleanNone), workers(2)))
		j.runs(0, 0)
		j.exits(0, "worker-0")
		j.succeeds()
		j.isGone()
		Consistently(func() []corev1.Pod { return j.look().pods }).Should(BeEmpty())
		here.created(2)
	})
})
