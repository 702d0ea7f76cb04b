//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// What needs no patience: somebody says that the node is gone.
var _ = Describe("A node that is said to be gone", Serial, func() {
	outOfService := func(node string) { taint(node, corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute) }

	DescribeTable("loses its pods at once: the collective restarts elsewhere, not charged", func(goes func(string), reason string, isAvoided bool) {
		node := fakeNodes(1)[0]
		j := submit(pytorch("p", maxRestarts(0), master(off(node)), workers(1, preferring(node))))
		before := j.runs(0, 0)
		Expect(before.slotOn(node)).To(Equal("worker-0"))
		goes(node)
		v := j.runs(1, 1)
		allReplaced(before, v)
		incident(v, v1alpha1.CauseInfrastructure, reason)
		notCharged(v)
		j.tells(v1alpha1.EventRestarting, "worker-0 on "+node, "lost its node", "1 more follows", "not charged")
		if isAvoided {
			avoids(j, v, node)
		}
	},
		Entry("when the Node object is deleted", remove, v1alpha1.ReasonNodeDeleted, false),
		Entry("when it is tainted out-of-service", outOfService, v1alpha1.ReasonNodeTainted, true),
	)
})

// What monitors such as NVSentinel and node-problem-detector say, while the node is ready all the time.
var _ = Describe("A node that says it is unhealthy", Serial, func() {
	It("keeps its pods and gets no new ones", func() {
		node := fakeNodes(3)[0]
		j := submit(custom("c", maxRestarts(0), master(off(node)), workers(1, preferring(node))))
		j.runs(0, 0)
		reportUnhealthy(node, "GpuMemWatch", "task docker:7 blocked for more than 120 seconds.")
		j.stays("it goes on as it is", func(v *view) bool { return v.job.Status.Restarts == 0 })
		j.evict("worker-0")
		v := j.runs(0, 1)
		v.is("the new pod is elsewhere", v.slotOn(node) == "")
		v.is("nothing is held against the node", len(v.job.Status.AvoidedNodes) == 0)
	})
})
