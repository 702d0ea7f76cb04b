//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// goingBack has replicas created anew, and on any node that they have been on.
var goingBack = recovering(func(r *v1alpha1.Recovery) {
	r.Restart, r.AvoidNodesSeconds = v1alpha1.RestartRecreate, ptr.To[int32](0)
})

var _ = withEachGangScheduler("A gang with a warm spare, scheduled", func(by gangScheduler) {
	It("has "+by.whatBreaks()+" in the group in which the others stay, and all are in the next one after a whole restart", func() {
		_, gpus := gpuNodes()
		j := submit(pytorch("spared", gang(by.name), goingBack,
			workers(3, scope(v1alpha1.ScopeReplica), limited(gpu, gpus), only(fakeNodes(4)...), warmSpares(1))))
		before := j.runsWithin(by.sleep, 0, 0)
		spare := j.waitWarm(1)[0]
		Expect(by.groupOf(&spare)).NotTo(Equal("spared-0"), "the gang does not wait for it")
		j.exits(1, "worker-2")
		v := j.runsWithin(by.sleep, 0, 1)
		v.is("the others run on", isSame(before.uids("worker-2"), &view{job: v.job, pods: without(v, "worker-2")}))
		Expect(v.pod("worker-2").UID == spare.UID).To(Equal(by.takesRunning()), "worker-2 is the pod %s", v.pod("worker-2").Name)
		Expect(by.groupOf(v.pod("worker-2"))).To(Equal("spared-0"))
		by.hasGroups(j, "spared-0")
		Expect(by.minimumOf(j, "spared-0")).To(BeEquivalentTo(3))
		j.waitWarm(1)
		j.asksForRestart("whole")
		v = j.runsWithin(by.sleep, 1, 2)
		Expect(by.joined(v)).To(Equal([]string{"spared-1"}))
		by.hasGroups(j, "spared-1")
	})
})

// takesRunning reports whether a pod that runs can join a group of the scheduler.
func (by gangScheduler) takesRunning() bool { return by.name != v1alpha1.GangNative }

// whatBreaks says what comes of a replica that breaks while a warm spare waits.
func (by gangScheduler) whatBreaks() string {
	if by.takesRunning() {
		return "it become the replica that breaks,"
	}
	return "a new pod for the replica that breaks,"
}
