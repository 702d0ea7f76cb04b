//go:build e2e

package e2e

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// incident fails if the latest incident is not of that cause and reason, and returns it.
func incident(v *view, cause v1alpha1.Cause, reason string) *v1alpha1.Incident {
	GinkgoHelper()
	v.is("it has had an incident", len(v.job.Status.Incidents) > 0)
	i := &v.job.Status.Incidents[0]
	v.is("the incident is of cause "+string(cause)+", reason "+reason, i.Cause == cause && i.Reason == reason)
	return i
}

// nodeLoss returns the latest incident, the loss of a node: by Kubernetes' mark, or by its silence while a restart waits.
func nodeLoss(v *view) *v1alpha1.Incident {
	GinkgoHelper()
	reason := v1alpha1.ReasonNodeLost
	if len(v.job.Status.Incidents) > 0 && v.job.Status.Incidents[0].Reason == v1alpha1.ReasonNodeSilent {
		reason = v1alpha1.ReasonNodeSilent
	}
	return incident(v, v1alpha1.CauseInfrastructure, reason)
}

// preempt runs a pod on the node that is more important than all jobs, and takes all its GPUs.
func preempt(node string, gpus int64) {
	GinkgoHelper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}, Value: 1000}
	Expect(kube.Create(here.ctx, class)).To(Succeed())
	DeferCleanup(func() { Expect(kube.Delete(here.ctx, class)).To(Succeed()) })
	urgent := custom("urgent", workers(1, limited(gpu, gpus), only(node)))
	template := urgent.Spec.ReplicaSpecs[v1alpha1.Worker].Template
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "urgent", Namespace: here.namespace}, Spec: template.Spec}
	pod.Spec.PriorityClassName = class.Name
	Eventually(func() error { return kube.Create(here.ctx, pod) }).Should(Succeed(), "the API server knows the new priority class")
}

var _ = Describe("A pod that is taken away", Serial, func() {
	It("for a more important one is Preempted: not charged, and its node not avoided", promise, func() {
		gpusAreFree()
		node := fakeNodes(1)[0]
		_, gpus := gpuNodes()
		j := submit(pytorch("p", maxRestarts(0), workers(2), master(limited(gpu, gpus), preferring(node), doing("terminate-after", "500ms"))))
		j.runs(0, 0)
		preempt(node, gpus)
		v := j.runs(1, 1)
		incident(v, v1alpha1.CausePreempted, "PreemptionByScheduler")
		v.is("no restart is charged", v.job.Status.ChargedRestarts == 0)
		v.is("no node is avoided", len(v.job.Status.AvoidedNodes) == 0)
		j.tells(v1alpha1.EventRestarting, "master-0", node, "was preempted", "not charged")
	})

	It("from a node with a NoExecute taint is not charged, and the node is avoided", func() {
		node := fakeNodes(1)[0]
		j := submit(pytorch("p", maxRestarts(0), workers(2), master(preferring(node), doing("terminate-after", "500ms"))))
		j.runs(0, 0)
		taint(node, "example.test/broken", corev1.TaintEffectNoExecute)
		v := j.runs(1, 1)
		incident(v, v1alpha1.CauseInfrastructure, "DeletionByTaintManager")
		notCharged(v)
		avoids(j, v, node)
	})
})

// avoids fails if the job does not avoid exactly these nodes, or nobody was told.
func avoids(j *submitted, v *view, nodes ...string) {
	GinkgoHelper()
	var avoided []string
	witnesses := map[string]int{} // by node: only what the Node itself shows is on it, not what pods met there
	ofNodes := []string{v1alpha1.ReasonNodeLost, v1alpha1.ReasonNodeSilent, v1alpha1.ReasonNodeTainted, v1alpha1.ReasonNodeUnhealthy, v1alpha1.ReasonDeviceUnhealthy}
	for _, n := range v.job.Status.AvoidedNodes {
		avoided = append(avoided, n.Name)
		if slices.Contains(ofNodes, n.Reason) {
			witnesses[n.Name] = 1
		}
	}
	Expect(avoided).To(ConsistOf(nodes), "the nodes that are avoided\n%s", v)
	for _, node := range nodes {
		v.is("no pod that can run is on "+node, v.slotOn(node) == "")
		j.tells(v1alpha1.EventNodeAvoided, "avoid "+node)
		here.holds("Events "+v1alpha1.EventNodeAvoided+" on "+node, witnesses[node], func() []string { return nodeEvents(node, v1alpha1.EventNodeAvoided, j) })
	}
	j.told(v1alpha1.EventNodeAvoided, len(nodes))
}
