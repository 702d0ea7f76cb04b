//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// clusterObject makes an object of the cluster from YAML until the spec ends, and returns its name.
func clusterObject(apiVersion, kind string, spec map[string]any) string {
	GinkgoHelper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"generateName": here.namespace + "-"}, "spec": spec,
	}}
	Expect(kube.Create(here.ctx, o)).To(Succeed())
	DeferCleanup(func() { Expect(kube.Delete(here.ctx, o)).To(Succeed()) })
	return o.GetName()
}

// deserving makes a queue of Volcano that may borrow any number of GPUs, and deserves so many of them.
func deserving(gpus int64) string {
	GinkgoHelper()
	return clusterObject("scheduling.volcano.sh/v1beta1", "Queue", map[string]any{
		"reclaimable": true, "deserved": map[string]any{string(gpu): fmt.Sprint(gpus)},
	})
}

// hyperNode makes a domain of Volcano's topology in tier 1 of these nodes.
func hyperNode(nodes ...string) {
	GinkgoHelper()
	var members []any
	for _, node := range nodes {
		members = append(members, map[string]any{"type": "Node", "selector": map[string]any{"exactMatch": map[string]any{"name": node}}})
	}
	clusterObject("topology.volcano.sh/v1alpha1", "HyperNode", map[string]any{"tier": int64(1), "members": members})
}

// withinTier keeps the gang in one of Volcano's domains of that tier, or a lower one.
func withinTier(tier int32) jobOption {
	return func(j *v1alpha1.TrainingJob) {
		within(rack)(j)
		j.Spec.Scheduling.Topology.Tier = ptr.To(tier)
	}
}

// nodesOf returns where the job's pods are.
func nodesOf(v *view) []string {
	var names []string
	for i := range v.pods {
		names = append(names, v.pods[i].Spec.NodeName)
	}
	return names
}

var _ = Describe("A gang in Volcano", Serial, Label("gang", string(v1alpha1.GangVolcano)), func() {
	BeforeEach(func() { gpusAreFree() })

	It("waits for its queue, says so, and runs when another there has ended", func() {
		_, gpus := gpuNodes()
		queue := clusterObject("scheduling.volcano.sh/v1beta1", "Queue", map[string]any{
			"weight": int64(1), "capability": map[string]any{string(gpu): fmt.Sprint(2 * gpus)},
		})
		first := submit(pytorch("first", gang(v1alpha1.GangVolcano, inQueue(queue)), wholeNodes(2)))
		first.runs(0, 0)
		second := submit(pytorch("second", gang(v1alpha1.GangVolcano, inQueue(queue)), wholeNodes(2)))
		v := second.becomes("it waits for its queue", (*view).waitsForNodes)
		Expect(v.job.Status.Message).To(HavePrefix(fmt.Sprintf("The gang needs 2 x %d nvidia.com/gpu at once in queue %s: ", gpus, queue)))
		second.stays("it waits although there are nodes", func(v *view) bool { return v.placed() == 0 && v.waitsForNodes() })
		first.ends()
		second.runs(0, 0)
	})

	It("gives back what its queue has borrowed, restarts whole, charged nothing, and returns when the owner's job has ended", func() {
		nodes, patience := fakeNodes(3), time.Minute
		_, gpus := gpuNodes()
		borrower, owner := deserving(gpus), deserving(2*gpus)
		low := submit(pytorch("low", gang(v1alpha1.GangVolcano, inQueue(borrower)), wholeNodes(3, nodes...)))
		low.runs(0, 0)
		high := submit(pytorch("high", gang(v1alpha1.GangVolcano, inQueue(owner)), wholeNodes(2, nodes...)))
		high.runsWithin(patience, 0, 0)
		v := low.becomes("it waits whole for its queue", func(v *view) bool { return v.waitsForNodes() && v.placed() == 0 })
		Expect(v.job.Status.Message).To(HavePrefix(fmt.Sprintf("The gang needs 3 x %d nvidia.com/gpu at once in queue %s: ", gpus, borrower)))
		Expect(v.job.Status.LastFailure.Cause).To(Equal(v1alpha1.CausePreempted))
		low.tells(v1alpha1.EventRestarting, "was preempted", "not charged")
		Expect(v.job.Status.ChargedRestarts).To(BeZero())
		Expect(here.history.disrupted("low", 0)).To(Equal(2), "pods that Volcano took, as many as the owner deserves")
		low.stays("it takes nothing of what the owner deserves", func(v *view) bool { return v.placed() == 0 && v.waitsForNodes() })
		high.ends()
		Expect(low.runsWithin(patience, 1, 1).job.Status.ChargedRestarts).To(BeZero())
	})

	It("with a tier stays within one HyperNode, whatever the rack", func() {
		nodes := fakeNodes(6)
		hyperNode(nodes[0], nodes[3])
		hyperNode(nodes[1], nodes[4])
		hyperNode(nodes[2], nodes[5])
		blocked := submit(custom("blocker", workers(1, limited(gpu, 8), only(nodes[0]))))
		blocked.runs(0, 0)
		j := submit(pytorch("tier", gang(v1alpha1.GangVolcano, withinTier(1)), wholeNodes(2)))
		Expect(nodesOf(j.runs(0, 0))).To(Or(ConsistOf(nodes[1], nodes[4]), ConsistOf(nodes[2], nodes[5])))
		wide := submit(pytorch("wide", gang(v1alpha1.GangVolcano, withinTier(1)), wholeNodes(3)))
		v := wide.becomes("no HyperNode has three nodes", (*view).waitsForNodes)
		Expect(v.pods).To(HaveEach(HaveField("Spec.Affinity", (*corev1.Affinity)(nil))), "the group keeps the topology")
		Expect(strings.Count(v.job.Status.Message, "The gang needs")).To(Equal(1))
		wide.stays("none of it has a node", func(v *view) bool { return v.placed() == 0 })
	})
})
