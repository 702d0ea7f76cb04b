//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

var _ = Describe("An elastic job", Serial, func() {
	It("runs on without a worker that fits nowhere, and takes it back when there is room", func() {
		gpusAreFree()
		_, gpus := gpuNodes()
		j := submit(pytorch("p", maxRestarts(0), elastic(1, 3), workers(3, limited(gpu, gpus), only(fakeNodes(3)...))))
		before := j.runs(0, 0)
		node := before.pod("worker-2").Spec.NodeName
		cordon(node)
		j.evict("worker-2")
		v := j.becomes("the worker waits and the job runs", func(v *view) bool {
			return v.job.Status.Phase == v1alpha1.PhaseRunning && v.job.Status.Ready == "2/3" && len(v.pods) == 3
		})
		v.is("the others go on", isSame(before.uids("worker-2"), &view{job: v.job, pods: without(v, "worker-2")}))
		uncordon(node)
		v = j.runs(0, 1)
		v.is("the others went on", isSame(before.uids("worker-2"), &view{job: v.job, pods: without(v, "worker-2")}))
	})

	It("begins without the workers that fit nowhere, but not with fewer than minReplicas", func() {
		gpusAreFree()
		_, gpus := gpuNodes()
		nodes := fakeNodes(2)
		cordon(nodes[1])
		j := submit(pytorch("p", elastic(1, 3), master(), workers(3, limited(gpu, gpus), only(nodes...))))
		v := j.becomes("one worker runs", func(v *view) bool {
			return v.isTrue(v1alpha1.ConditionRunning) && v.job.Status.Ready == "2/4"
		})
		v.is("nothing failed", v.job.Status.Restarts == 0 && v.job.Status.LastFailure == nil)
		stuck := submit(pytorch("stuck", elastic(2, 3), master(), workers(3, limited(gpu, gpus), only(nodes...))))
		stuck.becomes("its workers wait for room", func(v *view) bool { return v.job.Status.Reason == v1alpha1.ReasonUnschedulable })
		stuck.stays("it does not run", func(v *view) bool { return !v.isTrue(v1alpha1.ConditionRunning) })
	})

	It("whose workers meet outside of it replaces any of them alone, worker 0 too", func() {
		outside := func(j *v1alpha1.TrainingJob) {
			j.Spec.Elastic.Rendezvous = &v1alpha1.Rendezvous{Backend: "etcd-v2", Endpoint: "etcd.example.test:2379", Conf: []string{"timeout=900"}}
		}
		j := submit(pytorch("p", elastic(1, 4), outside, workers(3)))
		before := j.runs(0, 0)
		for i := range before.pods {
			Expect(ledger.Env(&before.pods[i])).To(And(HaveKeyWithValue("PET_RDZV_BACKEND", "etcd-v2"), HaveKeyWithValue("PET_RDZV_ENDPOINT", "etcd.example.test:2379")))
			Expect(ledger.Env(&before.pods[i])["PET_RDZV_CONF"]).To(ContainSubstring("timeout=900"))
		}
		j.exits(137, "worker-0")
		onlyReplaced("worker-0", before, j.runs(0, 1))
	})
})
