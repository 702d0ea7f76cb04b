//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// stalls waits until the job says that it cannot go on, for that reason and with the words of the API server.
func (j *submitted) stalls(reason string, words ...string) {
	GinkgoHelper()
	v := j.becomes("it is stalled with "+reason, func(v *view) bool {
		stalled := v.condition(v1alpha1.ConditionStalled)
		return stalled.Status == metav1.ConditionTrue && stalled.Reason == reason && containsAll(stalled.Message, words)
	})
	v.is("reason and message of the phase say so", v.job.Status.Reason == reason && containsAll(v.job.Status.Message, words))
	v.is("it has not failed", !v.isTrue(v1alpha1.ConditionFinished) && v.job.Status.Phase != v1alpha1.PhaseRunning)
	j.tells(v1alpha1.ConditionStalled, words...)
}

// recovers waits until the job runs and is stalled no more.
func (j *submitted) recovers() *view {
	GinkgoHelper()
	j.runs(0, 0)
	return j.becomes("it is stalled no more, and says that it runs", func(v *view) bool {
		return !v.isTrue(v1alpha1.ConditionStalled) && v.job.Status.Reason == v1alpha1.ReasonAllReplicasRunning
	})
}

// enforce sets the pod security standard of this spec's namespace.
func enforce(standard string) {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: here.namespace}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "`+standard+`"}}}`))
	Expect(kube.Patch(here.ctx, namespace, patch)).To(Succeed())
}

var _ = Describe("A refusal", func() {
	It("by a quota is told in the server's words, and over when the quota is raised", promise, func() {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: here.namespace},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}}}
		Expect(kube.Create(here.ctx, quota)).To(Succeed())
		Eventually(func() corev1.ResourceList {
			Expect(kube.Get(here.ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
			return quota.Status.Hard
		}).Should(HaveKey(corev1.ResourcePods))
		j := submit(pytorch("p", workers(3)))
		j.stalls(v1alpha1.ReasonQuotaExceeded, "exceeded quota: team")
		Expect(kube.Patch(here.ctx, quota, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"hard": {"pods": "10"}}}`)))).To(Succeed())
		j.recovers()
	})

	It("by pod security is told in the server's words, and over when the namespace allows the pods", func() {
		enforce("restricted")
		j := submit(pytorch("p", workers(2)))
		j.stalls(v1alpha1.ReasonForbidden, "violates PodSecurity", "restricted")
		enforce("privileged")
		j.recovers()
	})

	It("of a foreign pod to make way is a name conflict: it is never touched, and the job runs when it is gone", func() {
		foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p-worker-1", Namespace: here.namespace, Annotations: map[string]string{builder.LabPrefix + "terminate-after": "0s"}}}
		foreign.Spec.Containers = []corev1.Container{{Name: "mine", Image: "example.test/mine:1"}}
		Expect(kube.Create(here.ctx, foreign)).To(Succeed())
		j := submit(pytorch("p", workers(3)))
		j.stalls(v1alpha1.ReasonNameConflict, "p-worker-1", "another owner")
		now := &corev1.Pod{}
		Expect(kube.Get(here.ctx, client.ObjectKeyFromObject(foreign), now)).To(Succeed())
		Expect(now.UID).To(Equal(foreign.UID))
		Expect(now.Labels).NotTo(HaveKey(v1alpha1.LabelJobUID))
		Expect(now.OwnerReferences).To(BeEmpty())
		Expect(kube.Delete(here.ctx, now)).To(Succeed())
		j.recovers()
	})

	It("of a pod that is invalid is told in the server's words, and over when the template is mended", promise, func() {
		j := submit(pytorch("p", workers(2, func(r *v1alpha1.ReplicaSpec) { r.Template.Spec.Containers[0].Name = "Not A Name" })))
		j.stalls(v1alpha1.ReasonInvalid, "Not A Name")
		j.suspend()
		j.reaches(v1alpha1.PhaseSuspended)
		j.change(builder.Of(v1alpha1.Worker, builder.Main(func(c *corev1.Container) { c.Name = "main" })))
		j.resume()
		j.recovers()
	})
})
