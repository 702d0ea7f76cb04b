//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/test/ledger"
)

// homes returns which node each slot is on.
func homes(v *view) map[string]string {
	nodes := map[string]string{}
	for i := range v.pods {
		is, _ := ledger.LifeOf(v.job.Name, v.pods[i].Name)
		nodes[is.Slot()] = v.pod(is.Slot()).Spec.NodeName
	}
	return nodes
}

// What a replica left on its node, such as a local checkpoint or a warm cache, is worth going back for.
var _ = Describe("A replica that is created again", Serial, func() {
	DescribeTable("returns to its node when the whole job restarts", func(share int64) {
		gpusAreFree()
		_, gpus := gpuNodes()
		j := submit(pytorch("p", master(limited(gpu, gpus/share)), workers(7, limited(gpu, gpus/share))))
		before := homes(j.runs(0, 0))
		j.exits(1, "worker-3")
		Expect(homes(j.runs(1, 1))).To(Equal(before))
	},
		Entry("one to a node", int64(1)),
		Entry("some to a node", int64(4)),
	)

	It("returns to its node when it alone is replaced, and after a suspension", func() {
		j := submit(custom("c", workers(6)))
		before := homes(j.runs(0, 0))
		j.exits(1, "worker-3")
		Expect(homes(j.runs(0, 1))).To(Equal(before))
		j.suspend()
		j.resume()
		Expect(homes(j.runs(0, 1))).To(Equal(before))
	})

	It("takes nobody's place when it may not return", func() {
		gpusAreFree()
		_, gpus := gpuNodes()
		j := submit(pytorch("p", master(limited(gpu, gpus)), workers(7, limited(gpu, gpus))))
		before := homes(j.runs(0, 0))
		taint(before["worker-3"], corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute)
		after := homes(j.runs(1, 1))
		Expect(after["worker-3"]).NotTo(Equal(before["worker-3"]))
		delete(before, "worker-3")
		delete(after, "worker-3")
		Expect(after).To(Equal(before))
	})
})
