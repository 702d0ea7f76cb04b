//go:build e2e

package e2e

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// disrupted returns how many pods of the job's attempt a scheduler has marked as preempted.
func (h *history) disrupted(job string, attempt int) int {
	marked := map[string]bool{}
	for _, o := range h.sorted() {
		if o.Pod == nil {
			continue
		}
		is, ours := ledger.LifeOf(job, o.Pod.Name)
		for _, c := range o.Pod.Status.Conditions {
			if ours && is.Attempt == attempt && c.Type == corev1.DisruptionTarget && c.Reason == corev1.PodReasonPreemptionByScheduler {
				marked[o.Pod.Name] = true
			}
		}
	}
	return len(marked)
}

var _ = withEachGangScheduler("A gang scheduled", func(by gangScheduler) {
	It("waits whole on a cluster that is one node too small, says what it needs, and runs when a node is added (volcano#3834, #3671)", promise, func() {
		nodes, gpus := gpuNodes()
		j := submit(pytorch("wide", gang(by.name), wholeNodes(nodes+1)))
		v := j.becomes("it waits as a gang", (*view).waitsForNodes)
		Expect(v.job.Status.Phase).To(Equal(v1alpha1.PhasePending))
		Expect(v.job.Status.Message).To(And(HavePrefix(fmt.Sprintf("The gang needs %d x %d nvidia.com/gpu at once: ", nodes+1, gpus)), ContainSubstring(by.words)))
		j.stays("no pod has a node, and it waits", func(v *view) bool { return v.placed() == 0 && v.waitsForNodes() })
		addNode(fakeNodes(1)[0])
		v = j.runsWithin(by.sleep, 0, 0)
		Expect(v.job.Status.Message).NotTo(ContainSubstring("needs"))
		Expect(v.isTrue(v1alpha1.ConditionScheduled)).To(BeTrue(), v.String())
		j.told(v1alpha1.ReasonGangWaiting, 1)
	})

	It("gets its own place back when it restarts whole on a full cluster", func() {
		nodes, _ := gpuNodes()
		j := submit(pytorch("full", gang(by.name), wholeNodes(nodes)))
		j.runsWithin(by.sleep, 0, 0) // a scheduler that looks before all pods are there refuses the gang once
		j.exits(1, "worker-1")
		v := j.runsWithin(by.sleep, 1, 1)
		Expect(by.groupOf(v.pod("worker-0"))).To(Equal("full-1"))
		by.hasGroups(j, "full-1")
	})

	// The scheduler decides who is next: a job in between two attempts holds nothing.
	It("that restarts whole while another waits for the same nodes takes turns with it, and neither holds a part", func() {
		nodes, _ := gpuNodes()
		j := submit(pytorch("first", gang(by.name), wholeNodes(nodes)))
		j.runsWithin(by.sleep, 0, 0)
		other := submit(pytorch("other", gang(by.name), wholeNodes(nodes)))
		other.becomes("the other waits whole", (*view).waitsForNodes)
		j.exits(1, "worker-1")
		j.becomes("it begins again", func(v *view) bool { return v.job.Status.Attempt == 1 })
		running, waiting := oneOf(by, j, other)
		AddReportEntry("after the restart the nodes went to", running.name)
		running.ends()
		waiting.becomesWithin(by.sleep, "the one that waited runs", func(v *view) bool { return v.job.Status.Phase == v1alpha1.PhaseRunning && v.allRun() })
		Expect(here.history.sharing("first", "other", nodes)).To(BeEmpty())
	})

	It("takes a replaced worker in while the others run on", func() {
		nodes := fakeNodes(3)
		j := submit(custom("member", gang(by.name), wholeNodes(3, nodes...)))
		before := j.runsWithin(by.sleep, 0, 0)
		j.exits(1, "worker-1")
		v := j.runsWithin(by.sleep, 0, 1)
		Expect(by.groupOf(v.pod("worker-1"))).To(Equal("member-0"))
		Expect(v.uids("worker-1")).To(Equal(before.uids("worker-1")), "the others run on")
		by.hasGroups(j, "member-0")
	})

	It("makes way whole for a more important one, charged nothing, and comes back"+by.howItPreempts(), func() {
		nodes := fakeNodes(3)
		class := priorityClass(1000)
		low := submit(pytorch("low", gang(by.name), wholeNodes(3, nodes...)))
		low.runs(0, 0)
		high := submit(pytorch("high", gang(by.name, important(class)), wholeNodes(1, nodes...)))
		high.runsWithin(by.sleep, 0, 0)
		v := low.becomes("it waits whole", (*view).waitsForNodes)
		Expect(v.job.Status.LastFailure.Cause).To(Equal(v1alpha1.CausePreempted))
		Expect(v.job.Status.Restarts).To(BeEquivalentTo(1))
		Expect(v.job.Status.ChargedRestarts).To(BeZero())
		Expect(v.placed()).To(BeZero())
		Expect(here.history.disrupted("low", 0)).To(Equal(map[bool]int{true: 3, false: 1}[by.takesAll]), "pods that the scheduler preempted")
		high.ends()
		v = low.runsWithin(by.sleep, 1, 1)
		Expect(v.job.Status.ChargedRestarts).To(BeZero())
	})

	It("suspended leaves all it held to another, and runs again when that has ended", func() {
		nodes := fakeNodes(3)
		j := submit(pytorch("rests", gang(by.name), wholeNodes(3, nodes...)))
		j.runsWithin(by.sleep, 0, 0)
		other := submit(pytorch("other", gang(by.name), wholeNodes(3, nodes...)))
		other.becomes("it waits whole", (*view).waitsForNodes)
		j.suspend()
		j.becomes("nothing is left", func(v *view) bool { return v.isTrue(v1alpha1.ConditionSuspended) && len(v.pods) == 0 })
		by.hasGroups(j)
		other.runsWithin(by.sleep, 0, 0)
		j.resume()
		j.becomes("it waits whole", (*view).waitsForNodes)
		other.ends()
		j.runsWithin(by.sleep, 0, 0)
		by.hasGroups(j, "rests-0")
	})
})

// howItPreempts is what to know of a scheduler that preempts pods one by one.
func (by gangScheduler) howItPreempts() string {
	if by.takesAll {
		return ""
	}
	return " (the scheduler takes one pod, the operator ends the others)"
}
