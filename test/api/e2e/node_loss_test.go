//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// All jobs of this story lose the same node at the same time, as each loss takes half a minute to be certain.
//
//	silence ... NotReady ........ lost: fenced, deleted, replaced ............... deleted by force
//	        8 s           15 s                                      30 s
//
// #2072 #2185 #720 jobset#576: the pod on the dead node stayed Terminating, and the job waited for ever.
var _ = Describe("A node that falls silent #2072 #2185 #720 jobset#576", Serial, Ordered, func() {
	var dead string
	var collective, servers, claimant, late struck

	BeforeAll(func() {
		dead = fakeNodes(1)[0]
		safe, strict := off(dead), maxRestarts(0)
		claim("data")
		collective = strike(pytorch("collective", strict, naming(v1alpha1.DNSNamesAll), master(safe), workers(2, preferring(dead))))
		servers = strike(tensorflow("servers", strict, chief(safe), ps(2, safe), workers(1, preferring(dead))))
		claimant = strike(custom("claimant", strict, master(safe), workers(1, preferring(dead), claiming("data"))))
		late = strike(pytorch("late", maxRestarts(1), master(safe), workers(1, preferring(dead))))
		Expect(collective.before.slotOn(dead)).To(Equal("worker-0"))
		silence(dead)
	})

	It("is not yet known to be lost when its peers die of it: that is charged", func() {
		late.exits(1, "master-0")
		v := late.becomes("it restarts", func(v *view) bool { return v.job.Status.Attempt == 1 })
		incident(v, v1alpha1.CauseRetryable, "Error")
		used, limit := v.budget(v1alpha1.BudgetRestarts)
		v.is("it is charged", v.job.Status.ChargedRestarts == 1 && used == 1 && limit == 1)
	})

	It("loses its pods: a collective restarts whole on other nodes, at once and not charged", promise, func() {
		v := collective.runsWithin(patience, 1, 1)
		isLostWith(collective, v, dead)
		allReplaced(collective.before, v)
		v.is("two follow", v.job.Status.Incidents[0].Followers == 2)
		v.is("it began within seconds after the loss", v.job.Status.NextStartTime.Sub(lostAt(v)) < 10*time.Second)
		collective.tells(v1alpha1.EventRestarting, "lost its node", dead, "attempt 1", "not charged")
		avoids(collective.submitted, v, dead)
	})

	It("is seen by the Service before successors are: lost pods are reached by nobody, though they are there", func() {
		Expect(servers.runsWithin(patience, 0, 1)).NotTo(BeNil())
		for _, j := range []struct {
			struck
			slot, successor string
		}{{collective, "worker-0", "collective-worker-0-a1r0"}, {servers, "worker-0", "servers-worker-0-a0r1"}} {
			lost := j.before.pod(j.slot)
			Expect(here.history.fencing(lost.UID)).To(BeNumerically("<", here.history.creation(j.successor)), "the revision at which %s left the Service", lost.Name)
			Eventually(j.reachable).Should(And(ContainElement(j.successor), Not(ContainElement(lost.Name))), "who is in the EndpointSlices of %s", j.name)
		}
	})

	It("takes only the worker beside parameter servers", promise, func() {
		v := servers.runs(0, 1)
		isLostWith(servers, v, dead)
		v.is("all others go on", isSame(servers.before.uids("worker-0"), &view{job: v.job, pods: without(v, "worker-0")}))
		avoids(servers.submitted, v, dead)
	})

	It("explains what its peers died of: the charge is given back", func() {
		v := late.becomesWithin(patience, "the incident is explained", func(v *view) bool { return v.job.Status.Incidents[0].Explained })
		i := nodeLoss(v)
		v.is("it is the worker's now", i.Role == v1alpha1.Worker && i.Node == dead && !i.Charged)
		used, _ := v.budget(v1alpha1.BudgetRestarts)
		v.is("nothing is charged", v.job.Status.ChargedRestarts == 0 && used == 0)
		late.tells(v1alpha1.EventIncidentExplained, "worker-0", dead, "no longer charged")
		late.told(v1alpha1.EventIncidentExplained, 1)
		v = late.runs(1, 1)
		avoids(late.submitted, v, dead)
	})

	It("is counted in the metrics of avoided nodes", Label("lab"), func() {
		Expect(namespacesAvoiding(dead)).To(BeNumerically(">=", 1))
	})

	It("gives up its pods after 30 s, by force, unless one holds a claim", func() {
		for _, j := range []struck{collective, servers, late} {
			j.losesByForce(j.before.pod("worker-0"))
		}
		v := claimant.runs(0, 1)
		lost := claimant.before.pod("worker-0")
		v.is("the pod that mounts a claim is still there", hasPod(v, lost) && len(v.pods) == 3)
		notCharged(v)
	})

	It("is still avoided when it is back, and gives up what it held", func() {
		wake(dead)
		becomesWell(dead)
		claimant.leavesOnly(2)
		Expect(kube.Delete(here.ctx, late.pod("worker-0"))).To(Succeed())
		v := late.runs(2, 2)
		v.is("it is off "+dead, v.slotOn(dead) == "")
		submit(pytorch("other", workers(1, only(dead)))).runs(0, 0)
	})
})
