//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Times in the status have whole seconds: a wait of 3 s counts as 2 to 4, and a busy machine adds a few.
var _ = Describe("Lost time", Serial, func() {
	It("is told by what the job waited for: nodes, starting, a restart", func() {
		node := fakeNodes(1)[0]
		cordon(node)
		j := submit(pytorch("p", master(only(node), doing("terminate-after", "4s")), workers(1, doing("start-after", "8s"))))
		j.becomes("it waits for a node", func(v *view) bool {
			return v.condition(v1alpha1.ConditionScheduled).Reason == v1alpha1.ReasonUnschedulable
		})
		Consistently(func() string { return j.pod("master-0").Spec.NodeName }).WithTimeout(3*time.Second).Should(BeEmpty(), "the node of master-0")
		uncordon(node)
		lost := j.runs(0, 0).job.Status.LostSeconds
		Expect(lost.Nodes).To(BeNumerically("~", 4, 2), "nodes: %+v", lost)
		j.exits(1, "worker-0")
		v := j.runs(1, 1)
		lost = v.job.Status.LostSeconds
		elapsed := v.condition(v1alpha1.ConditionRunning).LastTransitionTime.Sub(v.job.Status.StartTime.Time).Seconds()
		sum := lost.Nodes + lost.Starting + lost.Detection + lost.Restart + v.job.Status.RunningSeconds
		Expect(sum).To(BeNumerically("~", elapsed, 3), "all of it and what it ran: %+v, ran %d s", lost, v.job.Status.RunningSeconds)
		Expect(lost.Restart).To(BeNumerically("~", 5, 2), "restart: %+v", lost)
		Expect(lost.Starting).To(BeNumerically(">=", 3), "starting: %+v", lost)
		Expect(lost.Queue).To(BeZero(), "queue: %+v", lost)
		ratio, ok := state.RunningTimeRatio(&v.job.Status, time.Now())
		Expect(ok).To(BeTrue(), "%s", v)
		Expect(ratio).To(BeNumerically("<", 0.5), "it has waited more than it ran")
	})
})
