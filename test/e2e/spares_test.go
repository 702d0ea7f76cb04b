//go:build e2e

package e2e

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/ledger"
)

// spares returns the job's placeholder pods that nobody deletes.
func (j *submitted) spares() []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(kube.List(here.ctx, &pods, client.InNamespace(here.namespace))).To(Succeed())
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !ledger.IsSpare(j.name, p.Name) || p.DeletionTimestamp != nil })
}

// holdsNodes waits until so many placeholder pods run and the status says so.
func (j *submitted) holdsNodes(n int32) []corev1.Pod {
	GinkgoHelper()
	var spares []corev1.Pod
	j.becomes("placeholder pods hold nodes", func(v *view) bool {
		spares = slices.DeleteFunc(j.spares(), func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
		return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Spares == n && len(spares) == int(n)
	})
	return spares
}

func (j *submitted) hasNoSpares() {
	GinkgoHelper()
	Eventually(j.spares).Should(BeEmpty(), "placeholder pods of %s", j.name)
}

var _ = Describe("Spares", Serial, func() {
	It("hold a node once the replicas are placed, are nobody's peers, and go when the job rests or ends", func() {
		gpusAreFree()
		_, gpus := gpuNodes()
		j := submit(pytorch("p", naming(v1alpha1.DNSNamesAll), workers(2, limited(gpu, gpus), only(fakeNodes(3)...), spares(1))))
		v := j.runs(0, 0)
		spare := j.holdsNodes(1)[0]
		v.is("it has a node of its own", v.slotOn(spare.Spec.NodeName) == "")
		for i := range v.pods {
			v.is("it came after the replicas", !spare.CreationTimestamp.Before(&v.pods[i].CreationTimestamp))
		}
		Expect(spare.Spec.Containers[0].Command).To(Equal([]string{"sleep", "infinity"}))
		Expect(spare.Spec.Containers[0].Image).To(Equal("train"))
		Eventually(j.reachable).Should(Equal([]string{"p-worker-0", "p-worker-1"}))
		j.becomes("two of two are ready", func(v *view) bool { return v.job.Status.Ready == "2/2" && active(v) == 2 })
		j.suspend()
		j.hasNoSpares()
		j.becomes("nothing is left", func(v *view) bool { return v.isTrue(v1alpha1.ConditionSuspended) && active(v) == 0 && len(v.pods) == 0 })
		j.resume()
		j.runs(0, 0)
		j.holdsNodes(1)
		j.exits(0, "worker-0")
		j.succeeds()
		j.hasNoSpares()
	})

	It("make way when a node is lost and the replica fits nowhere else", func() {
		gpusAreFree()
		_, gpus := gpuNodes()
		j := submit(pytorch("p", maxRestarts(0), workers(2, limited(gpu, gpus), only(fakeNodes(3)...), spares(1))))
		before := j.runs(0, 0)
		held := j.holdsNodes(1)[0].Spec.NodeName
		broken := before.pod("worker-1").Spec.NodeName
		taint(broken, corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute)
		v := j.runs(1, 1)
		v.is("a replica runs where the spare was", v.slotOn(held) != "")
		j.tells(v1alpha1.EventSpareUsed, "p-worker-spare-0", held)
		j.told(v1alpha1.EventSpareUsed, 1)
		avoids(j, v, broken)
		j.becomes("no spare holds a node", func(v *view) bool { return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Spares == 0 })
	})

	It("come and go as their number is changed while the job runs", func() {
		j := submit(pytorch("p", workers(2, spares(2))))
		before := j.runs(0, 0)
		j.holdsNodes(2)
		count := func(n int32) {
			j.change(func(job *v1alpha1.TrainingJob) {
				workers := job.Spec.ReplicaSpecs[v1alpha1.Worker]
				workers.Spares.Count = n
				job.Spec.ReplicaSpecs[v1alpha1.Worker] = workers
			})
		}
		count(3)
		j.holdsNodes(3)
		count(0)
		j.hasNoSpares()
		v := j.look()
		v.is("no replica was touched", isSame(before.uids(), v))
	})
})
