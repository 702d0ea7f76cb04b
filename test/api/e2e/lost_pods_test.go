//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

// inPhase selects this spec's pods in the phase.
func inPhase(phase corev1.PodPhase) []client.DeleteAllOfOption {
	return []client.DeleteAllOfOption{client.InNamespace(here.namespace), client.MatchingFields{"status.phase": string(phase)}}
}

// evict asks for the eviction of the slot's pod, as kubectl drain does.
func (j *submitted) evict(slots ...string) {
	GinkgoHelper()
	for _, slot := range slots {
		Expect(testbed.Evict(here.ctx, kube, j.pod(slot))).To(Succeed())
	}
}

// notCharged fails if the latest restart is not put down to the infrastructure.
func notCharged(v *view) {
	GinkgoHelper()
	v.is("no restart is charged", v.job.Status.ChargedRestarts == 0)
	Expect(v.job.Status.LastFailure.Cause).To(Equal(v1alpha1.CauseInfrastructure), "%s", v)
}

var _ = Describe("A lost pod", func() {
	It("deleted by hand is replaced, counted once and not charged", promise, func() {
		j := submit(everyRole(maxRestarts(0)))
		before := j.runs(0, 0)
		Expect(kube.Delete(here.ctx, j.pod("worker-1"))).To(Succeed())
		v := j.runs(0, 1)
		onlyReplaced("worker-1", before, v)
		notCharged(v)
	})

	// #2124 #999: the drain of one worker failed the whole job, as a terminating pod counted as failed.
	It("that is drained does not fail the job #2124 #999", promise, func() {
		j := submit(tensorflow("t", maxRestarts(0), chief(), ps(1), workers(3, restarting(v1alpha1.RestartNever), doing("terminate-after", "500ms"))))
		before := j.runs(0, 0)
		j.evict("worker-2")
		v := j.runs(0, 1)
		onlyReplaced("worker-2", before, v)
		notCharged(v)
		Expect(v.job.Status.LastFailure.Reason).To(Equal("EvictionByEvictionAPI"))
		j.tells(v1alpha1.EventReplicaRestarting, "worker-2", "EvictionByEvictionAPI", "not charged")
	})

	It("is one of several that are drained together: one restart", func() {
		j := submit(pytorch("p", maxRestarts(0), workers(4, doing("terminate-after", "500ms"))))
		j.runs(0, 0)
		j.evict("worker-3", "worker-1", "worker-2")
		notCharged(j.runs(1, 1))
	})
})
