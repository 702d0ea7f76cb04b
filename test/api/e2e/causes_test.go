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
	"github.com/trainingjob/operator/test/api/testbed"
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

// gated keeps a pod from the scheduler.
func gated(replicas *v1alpha1.ReplicaSpec) {
	replicas.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.test/wait"}}
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

	It("by a busy kubelet that writes Failed before its containers have ended: the eviction is named and charged, the followers are not", func() {
		j := submit(pytorch("p", workers(3)))
		before := j.runs(0, 0)
		j.does(testbed.Annotations{"evict": "Usage of EmptyDir volume exceeds the limit.", "evict-in-two": "true", "exit-code": "143"}, "worker-2")
		v := j.runs(1, 1)
		allReplaced(before, v)
		i := incident(v, v1alpha1.CauseRetryable, "Evicted")
		v.is("the end of its container was awaited", i.Index == 2 && i.ExitCode != nil && *i.ExitCode == 143 && i.Charged)
	})

	It("by a node that is low on memory: not charged, and it does not return there", func() {
		j := submit(pytorch("p", maxRestarts(0), workers(2)))
		node := j.runs(0, 0).pod("worker-1").Spec.NodeName
		j.does(testbed.Annotations{"evict": "The node was low on resource: memory.", "evict-in-two": "true", "evict-for-node": "true"}, "worker-1")
		v := j.runs(1, 1)
		incident(v, v1alpha1.CauseInfrastructure, "TerminationByKubelet")
		notCharged(v)
		v.is("it is on another node", v.pod("worker-1").Spec.NodeName != node)
	})

	It("before it has a node is made again in the same attempt, whatever restartPolicy says, and not charged", func() {
		j := submit(pytorch("p", maxRestarts(0), master(), workers(1, restarting(v1alpha1.RestartNever), gated)))
		j.becomes("the pod waits", func(v *view) bool { return v.pod("worker-0") != nil })
		pod := j.pod("worker-0")
		pod.Status.Phase = corev1.PodFailed
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: "TerminatedByKueue", Status: corev1.ConditionTrue, Reason: "UnschedulableOnAssignedNode", LastTransitionTime: metav1.Now()})
		Expect(kube.Status().Update(here.ctx, pod)).To(Succeed())
		j.becomes("another pod is there, in the same attempt", func(v *view) bool {
			p := v.pod("worker-0")
			return p != nil && p.UID != pod.UID && v.job.Status.Restarts == 1 && v.job.Status.Attempt == 0
		})
		v := j.becomes("it is told", func(v *view) bool { return len(v.job.Status.Incidents) == 1 })
		incident(v, v1alpha1.CauseInfrastructure, "UnschedulableOnAssignedNode")
		notCharged(v)
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
	ofNodes := []string{v1alpha1.ReasonNodeLost, v1alpha1.ReasonNodeSilent, v1alpha1.ReasonNodeTainted, v1alpha1.ReasonNodeIll, v1alpha1.ReasonDeviceUnhealthy}
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
