//go:build e2e

package e2e

import (
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// everyRole is a TensorFlow job with a replica of every role that TensorFlow has.
func everyRole(options ...jobOption) *v1alpha1.TrainingJob {
	return tensorflow("t", append([]jobOption{chief(), ps(2), workers(3), evaluator()}, options...)...)
}

// onlyReplaced fails if any but the slot's pod was replaced, or if that pod came back as somebody else.
func onlyReplaced(slot string, before, after *view) {
	GinkgoHelper()
	after.is("no other pod was touched", isSame(before.uids(slot), &view{job: after.job, pods: without(after, slot)}))
	was, is := before.pod(slot), after.pod(slot)
	after.is(slot+" has another pod", was.UID != is.UID)
	Expect(is.Spec.Hostname+"."+is.Spec.Subdomain).To(Equal(was.Spec.Hostname+"."+was.Spec.Subdomain), "the DNS name of %s", slot)
	Expect(is.Labels[v1alpha1.LabelRank]).To(Equal(was.Labels[v1alpha1.LabelRank]), "the rank of %s", slot)
	former, present := ledger.Env(was), ledger.Env(is)
	Expect(number(present)).To(BeNumerically(">", number(former)), "the fencing token of %s", slot)
	delete(former, v1alpha1.EnvLife)
	delete(present, v1alpha1.EnvLife)
	Expect(present).To(Equal(former), "the environment of %s", slot)
}

// number returns the number of a pod's life.
func number(environment map[string]string) int {
	GinkgoHelper()
	n, err := strconv.Atoi(environment[v1alpha1.EnvLife])
	Expect(err).NotTo(HaveOccurred())
	return n
}

// allReplaced fails if a pod of before is still there.
func allReplaced(before, after *view) {
	GinkgoHelper()
	was := before.uids()
	for slot, uid := range after.uids() {
		after.is(slot+" has another pod", was[slot] != "" && was[slot] != uid)
	}
	after.is("every slot has a pod again", len(after.uids()) == len(was))
}

// What each role of each framework restarts by default is in pkg/failure/scope_test.go; here it is seen to happen.
var _ = Describe("Restart scope", promise, func() {
	DescribeTable("replaces just the replica that died", func(build func() *v1alpha1.TrainingJob, slot string) {
		j := submit(build())
		before := j.runs(0, 0)
		j.exits(137, slot)
		onlyReplaced(slot, before, j.runs(0, 1))
		j.tells(v1alpha1.EventReplicaRestarting, slot, "137")
	},
		Entry("a worker beside parameter servers", func() *v1alpha1.TrainingJob { return everyRole() }, "worker-1"),
		Entry("a worker of an elastic PyTorch job", func() *v1alpha1.TrainingJob { return pytorch("p", workers(3), elastic(1, 4)) }, "worker-2"),
	)

	// #2000 #2269 #1478: only the dead rank's pod was restarted, and the others hung.
	DescribeTable("restarts the whole job, once #2000 #2269 #1478", func(build func() *v1alpha1.TrainingJob, slots ...string) {
		j := submit(build())
		before := j.runs(0, 0)
		j.exits(137, slots...)
		allReplaced(before, j.runs(1, 1))
		j.stays("one restart", func(v *view) bool { return v.job.Status.Restarts == 1 && v.job.Status.Attempt == 1 })
		j.told(v1alpha1.EventRestarting, 1)
	},
		Entry("when a parameter server dies", func() *v1alpha1.TrainingJob { return everyRole() }, "ps-1"),
		Entry("when a PyTorch rank dies", func() *v1alpha1.TrainingJob { return pytorch("p", master(), workers(3)) }, "worker-1"),
		Entry("when three PyTorch ranks die at once", func() *v1alpha1.TrainingJob { return pytorch("p", workers(5)) }, "worker-1", "worker-2", "worker-4"),
	)

	It("replaces all replicas of a role with restartScope Role, and nobody else, even when two die at once", func() {
		j := submit(custom("c", master(), workers(3, scope(v1alpha1.ScopeRole))))
		before := j.runs(0, 0)
		j.exits(137, "worker-0", "worker-2")
		after := j.runs(0, 1)
		after.is("the master goes on", before.uids()["master-0"] == after.uids()["master-0"])
		for _, worker := range []string{"worker-0", "worker-1", "worker-2"} {
			after.is(worker+" has another pod", before.uids()[worker] != after.uids()[worker])
		}
	})

	It("never lets an evaluator fail the job, even when its exit is permanent", func() {
		j := submit(tensorflow("t", chief(), ps(1), workers(1), evaluator(restarting(v1alpha1.RestartNever))))
		j.runs(0, 0)
		j.exits(1, "evaluator-0")
		j.tells(v1alpha1.EventReplicaGivenUp, "evaluator-0", "1")
		j.stays("it runs", func(v *view) bool { return v.job.Status.Phase == v1alpha1.PhaseRunning && v.job.Status.Restarts == 0 })
		j.exits(0, "chief-0")
		j.succeeds()
	})
})

// endedWith returns the grace period of the deletion that was first asked for of the pod.
func endedWith(pod *corev1.Pod) int64 {
	GinkgoHelper()
	return *here.history.asked(pod.UID).DeletionGracePeriodSeconds
}

var _ = Describe("A pod has to end", func() {
	takingAtMost := func(seconds int64) replicaOption {
		return func(r *v1alpha1.ReplicaSpec) { r.Template.Spec.TerminationGracePeriodSeconds = &seconds }
	}

	DescribeTable("when a restart ends it, in", func(want int64, build func() *v1alpha1.TrainingJob) {
		j := submit(build())
		before := j.runs(0, 0)
		j.exits(1, "worker-1")
		j.runs(1, 1)
		Expect(endedWith(before.pod("worker-0"))).To(Equal(want))
	},
		Entry("5 s", int64(5), func() *v1alpha1.TrainingJob { return pytorch("p", workers(2)) }),
		Entry("the 2 s of its template, which are less", int64(2), func() *v1alpha1.TrainingJob {
			return pytorch("p", workers(2, takingAtMost(2)), recovering(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartRecreate }))
		}),
		Entry("recovery.terminationGraceSeconds", int64(20), func() *v1alpha1.TrainingJob {
			return pytorch("p", workers(2), recovering(func(r *v1alpha1.Recovery) { r.TerminationGraceSeconds = ptr.To[int32](20) }))
		}),
	)

	It("unless it can go on in its place, by default if its template gives it no longer to end than a restart would", func() {
		j := submit(pytorch("p", workers(2, takingAtMost(5))))
		before := j.runs(0, 0)
		j.exits(1, "worker-1")
		after := j.runs(1, 1)
		after.is("the one that is well has its pod", before.uids()["worker-0"] == after.uids()["worker-0"])
		after.is("the one that broke has another", before.uids()["worker-1"] != after.uids()["worker-1"])
	})

	It("when it is suspended or cleaned up, in its template's own time", func() {
		j := submit(pytorch("p", workers(2, takingAtMost(40))))
		before := j.runs(0, 0)
		j.suspend()
		Expect(endedWith(before.pod("worker-1"))).To(BeEquivalentTo(40))
		j.resume()
		again := j.runs(0, 0)
		j.exits(0, "worker-0")
		j.succeeds()
		Expect(endedWith(again.pod("worker-1"))).To(BeEquivalentTo(40))
	})
})

var _ = Describe("Fence", func() {
	// jobset#665 jobset#684: ranks of both attempts met. That none overlap is checked in every spec's history.
	It("keeps the next attempt from beginning until every pod of the former has ended jobset#665 jobset#684", func() {
		j := submit(pytorch("p", master(doing("terminate-after", "5s")), workers(3)))
		before := j.runs(0, 0)
		j.exits(143, "worker-2")
		j.becomes("it says that it waits for former pods", func(v *view) bool {
			return v.condition(v1alpha1.ConditionRunning).Reason == v1alpha1.ReasonFormerPodsEnding
		})
		allReplaced(before, j.runs(1, 1))
	})

	It("keeps a replica's next life from beginning until its former pod has ended", func() {
		j := submit(custom("c", master(), workers(2, doing("terminate-after", "1s"))))
		before := j.runs(0, 0)
		Expect(kube.Delete(here.ctx, j.pod("worker-1"))).To(Succeed())
		j.stays("worker 0 goes on", func(v *view) bool { return v.uids()["worker-0"] == before.uids()["worker-0"] })
		onlyReplaced("worker-1", before, j.runs(0, 1))
	})

	// lws#725: peers attempted restarts while one member was still starting.
	It("restarts once although one replica takes long to start lws#725", func() {
		j := submit(pytorch("p", master(doing("start-after", "2s")), workers(2)))
		j.becomes("the workers run", func(v *view) bool { return v.slots("Running") == "worker-0 worker-1" })
		j.exits(137, "worker-1")
		j.runs(1, 1)
		j.told(v1alpha1.EventRestarting, 1)
	})
})
