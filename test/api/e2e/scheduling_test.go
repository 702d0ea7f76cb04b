//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

const gpu corev1.ResourceName = "nvidia.com/gpu"

// gpuNodes returns how many nodes have GPUs, and how many GPUs each has.
func gpuNodes() (nodes int, gpus int64) {
	GinkgoHelper()
	var all corev1.NodeList
	Expect(kube.List(here.ctx, &all)).To(Succeed())
	for i := range all.Items {
		if n := all.Items[i].Status.Allocatable.Name(gpu, "").Value(); n > 0 {
			nodes, gpus = nodes+1, n
		}
	}
	Expect(nodes).To(BeNumerically(">=", 2), "the suite needs at least two nodes with %s, all alike", gpu)
	return nodes, gpus
}

// gpusAreFree waits until no pod holds a GPU: those of earlier specs may still be going.
func gpusAreFree() {
	GinkgoHelper()
	Eventually(func() []string {
		var pods corev1.PodList
		Expect(kube.List(here.ctx, &pods)).To(Succeed())
		var holders []string
		for i := range pods.Items {
			if p := &pods.Items[i]; ledger.CanRun(p) && !p.Spec.Containers[0].Resources.Limits.Name(gpu, "").IsZero() {
				holders = append(holders, p.Namespace+"/"+p.Name)
			}
		}
		return holders
	}).WithTimeout(time.Minute).Should(BeEmpty(), "pods that hold GPUs")
}

var _ = Describe("Scheduling", func() {
	// #1094 #3671 volcano#3834: nothing said why a job was pending. #1711: Running was reported when 1 of N pods ran.
	It("that cannot place a pod is told in the scheduler's words, and Running waits for all #1094 #3671 #1711", promise, Serial, func() {
		gpusAreFree()
		nodes, gpus := gpuNodes()
		blocker := submit(custom("blocker", workers(nodes-1, limited(gpu, gpus))))
		blocker.runs(0, 0)
		j := submit(pytorch("p", workers(2, limited(gpu, gpus))))
		v := j.becomes("a worker has no node", func(v *view) bool {
			scheduled := v.condition(v1alpha1.ConditionScheduled)
			return scheduled.Status == metav1.ConditionFalse && scheduled.Reason == v1alpha1.ReasonUnschedulable && v.job.Status.Ready == "1/2"
		})
		v.is("phase, reason and message say so", v.job.Status.Phase == v1alpha1.PhasePending && v.job.Status.Reason == v1alpha1.ReasonUnschedulable &&
			containsAll(v.job.Status.Message, []string{"worker-", "Insufficient " + string(gpu)}))
		j.tells(v1alpha1.ReasonUnschedulable, "Insufficient "+string(gpu))
		j.stays("it does not run", func(v *view) bool { return !v.isTrue(v1alpha1.ConditionRunning) })
		blocker.delete(metav1.DeletePropagationBackground)
		j.runs(0, 0)
		j.becomes("every pod has a node", func(v *view) bool {
			return v.isTrue(v1alpha1.ConditionScheduled) && v.job.Status.Reason == v1alpha1.ReasonAllReplicasRunning
		})
	})
})
