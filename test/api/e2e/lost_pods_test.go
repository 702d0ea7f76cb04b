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

	It("deleted by force is replaced, counted once and not charged", func() {
		j := submit(everyRole(maxRestarts(0)))
		before := j.runs(0, 0)
		Expect(kube.Delete(here.ctx, j.pod("worker-1"), client.GracePeriodSeconds(0))).To(Succeed())
		v := j.runs(0, 1)
		onlyReplaced("worker-1", before, v)
		notCharged(v)
		j.told(v1alpha1.EventReplicaRestarting, 1)
	})

	It("that ran for a moment only is counted as well, however it went", func() {
		j := submit(custom("c", maxRestarts(0), master(), workers(2)))
		j.runs(0, 0)
		Expect(kube.Delete(here.ctx, j.pod("worker-1"))).To(Succeed())
		j.runs(0, 1)
		j.becomes("it is known that the new worker has started", func(v *view) bool {
			return v.job.Status.Memory.Roles[v1alpha1.Worker].Started == "0-1"
		})
		Expect(kube.Delete(here.ctx, j.pod("worker-1"), client.GracePeriodSeconds(0))).To(Succeed())
		j.runs(0, 2)
	})

	It("of a collective restarts the whole job, once and not charged", promise, func() {
		j := submit(pytorch("p", maxRestarts(0), master(), workers(3)))
		before := j.runs(0, 0)
		Expect(kube.Delete(here.ctx, j.pod("worker-1"))).To(Succeed())
		v := j.runs(1, 1)
		allReplaced(before, v)
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

	It("that had not run has lost nothing: it is made again and not counted", func() {
		j := submit(pytorch("p", master(), workers(1, doing("start-after", "1500ms"))))
		j.becomes("the worker is on its node", func(v *view) bool { p := v.pod("worker-0"); return p != nil && p.Spec.NodeName != "" })
		former := j.pod("worker-0")
		Expect(kube.Delete(here.ctx, former)).To(Succeed())
		v := j.runs(0, 0)
		v.is("the worker has another pod", v.pod("worker-0").UID != former.UID)
	})

	// #1186 #1997 #2453: a completed pod that was garbage-collected trained again.
	It("that had completed never runs again #1186 #1997 #2453", promise, func() {
		j := submit(everyRole())
		j.runs(0, 0)
		j.exits(0, "worker-1")
		j.becomes("worker 1 has succeeded", func(v *view) bool { return v.job.Status.Memory.Roles[v1alpha1.Worker].Succeeded == "1" })
		Expect(kube.Delete(here.ctx, j.pod("worker-1"))).To(Succeed())
		j.stays("worker 1 stays away", func(v *view) bool {
			return v.job.Status.Restarts == 0 && (v.pod("worker-1") == nil || v.pod("worker-1").Status.Phase == corev1.PodSucceeded)
		})
		j.exits(137, "worker-0")
		j.becomes("worker 0 was replaced", func(v *view) bool {
			return v.job.Status.Restarts == 1 && v.slots(corev1.PodRunning) == "chief-0 evaluator-0 ps-0 ps-1 worker-0 worker-2"
		})
	})

	It("of a finished job is not made again", func() {
		j := submit(pytorch("p", workers(1)))
		j.runs(0, 0)
		j.exits(0, "worker-0")
		j.succeeds()
		Expect(kube.Delete(here.ctx, j.pod("worker-0"))).To(Succeed())
		j.leaves()
	})
})

var _ = Describe("A lost Service", func() {
	It("comes back", func() {
		j := submit(pytorch("p", workers(2)))
		before := j.runs(0, 0)
		service := &corev1.Service{}
		Expect(kube.Get(here.ctx, j.key(), service)).To(Succeed())
		Expect(kube.Delete(here.ctx, service)).To(Succeed())
		Eventually(func() error { return kube.Get(here.ctx, j.key(), &corev1.Service{}) }).Should(Succeed())
		v := j.runs(0, 0)
		v.is("no pod was touched", isSame(before.uids(), v))
	})
})
