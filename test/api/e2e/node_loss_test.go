//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

// All jobs of this story lose the same nodes at the same time, as each loss takes half a minute to be certain.
//
//	silence ... NotReady ........ lost: fenced, deleted, replaced ............... deleted by force
//	        8 s           15 s                                      30 s
//
// #2072 #2185 #720 jobset#576: the pod on the dead node stayed Terminating, and the job waited for ever.
var _ = Describe("A node that falls silent #2072 #2185 #720 jobset#576", Serial, Ordered, func() {
	var dead, alsoDead, flaky string
	var collective, servers, both, claimant, late, resting, ended, expiring, lucky, windowed struck

	BeforeAll(func() {
		nodes := fakeNodes(3)
		dead, alsoDead, flaky = nodes[0], nodes[1], nodes[2]
		safe := off(nodes...)
		claim("data")
		strict := maxRestarts(0)
		windowed = strike(custom("windowed", maxRestarts(1), window(60), workers(1, safe)))
		windowed.exits(1, "worker-0")
		collective = strike(pytorch("collective", strict, naming(v1alpha1.DNSNamesAll), master(safe), workers(2, preferring(dead), off(alsoDead, flaky))))
		servers = strike(tensorflow("servers", strict, chief(safe), ps(2, safe), workers(1, preferring(dead), off(alsoDead, flaky))))
		both = strike(pytorch("both", strict, master(preferring(dead), off(flaky)), workers(2, preferring(alsoDead), off(flaky))))
		claimant = strike(custom("claimant", strict, master(safe), workers(1, preferring(dead), off(alsoDead, flaky), claiming("data"))))
		late = strike(pytorch("late", maxRestarts(1), master(safe), workers(1, preferring(dead), off(alsoDead, flaky))))
		resting = strike(pytorch("resting", strict, master(safe), workers(1, preferring(dead), off(alsoDead, flaky))))
		ended = strike(pytorch("ended", strict, master(safe), workers(1, preferring(dead))))
		expiring = strike(pytorch("expiring", strict, timeToLive(1), master(safe), workers(1, preferring(dead))))
		lucky = strike(pytorch("lucky", strict, master(safe), workers(1, preferring(flaky))))
		Expect(collective.before.slotOn(dead)).To(Equal("worker-0"))
		Expect(both.before.slotOn(alsoDead)).To(Equal("worker-0"))
		windowed.runs(0, 1)
		silence(dead, alsoDead, flaky)
	})

	It("is not yet known to be lost when its peers die of it: that is charged", func() {
		late.exits(1, "master-0")
		v := late.becomes("it restarts", func(v *view) bool { return v.job.Status.Attempt == 1 })
		incident(v, v1alpha1.CauseRetryable, "Error")
		used, limit := v.budget(v1alpha1.BudgetRestarts)
		v.is("it is charged", v.job.Status.ChargedRestarts == 1 && used == 1 && limit == 1)
	})

	It("does not keep a job from resting or ending", func() {
		resting.suspend()
		ended.exits(0, "master-0")
		expiring.exits(0, "master-0")
		ended.succeeds()
		resting.reaches(v1alpha1.PhaseSuspended)
		expiring.isDeleted()
	})

	It("is not lost if it comes back in time", func() {
		Eventually(func() bool { return testbed.IsReady(getNode(flaky)) }).WithTimeout(patience).Should(BeFalse(), "%s is noticed to be silent", flaky)
		wake(flaky)
		becomesWell(flaky)
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

	It("together with another one is one restart", func() {
		v := both.runsWithin(patience, 1, 1)
		nodeLoss(v)
		notCharged(v)
		v.is("nobody is left on either", v.slotOn(dead) == "" && v.slotOn(alsoDead) == "")
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

	It("does not keep a suspended job's resources", func() {
		resting.becomesWithin(patience, "nothing is active", func(v *view) bool { return active(v) == 0 })
		resting.resume()
		v := resting.runs(0, 0)
		v.is("it runs elsewhere", v.slotOn(dead) == "")
	})

	It("that had come back had lost nothing", func() {
		v := lucky.runs(0, 0)
		v.is("its pods are those of before", isSame(lucky.before.uids(), v))
		v.is("nothing is held against the node", len(v.job.Status.AvoidedNodes) == 0 && len(v.job.Status.Incidents) == 0)
	})

	It("is counted in the metrics of avoided nodes", Label("lab"), func() {
		Expect(namespacesAvoiding(dead)).To(BeNumerically(">=", 1))
		Expect(namespacesAvoiding(flaky)).To(BeZero())
	})

	It("gives up its pods after 30 s, by force, unless one holds a claim", func() {
		for _, j := range []struck{collective, servers, both, late, ended} {
			for slot := range j.before.uids() {
				if lost := j.before.pod(slot); lost.Spec.NodeName == dead || lost.Spec.NodeName == alsoDead {
					j.losesByForce(lost)
				}
			}
		}
		v := claimant.runs(0, 1)
		lost := claimant.before.pod("worker-0")
		v.is("the pod that mounts a claim is still there", hasPod(v, lost) && len(v.pods) == 3)
		notCharged(v)
	})

	It("does not keep a charge for longer than the window", func() {
		charge := windowed.look().job.Status.Incidents[0].RestartTime
		Eventually(time.Now).WithTimeout(patience).Should(BeTemporally(">", charge.Add(61*time.Second)))
		windowed.exits(1, "worker-0")
		v := windowed.runs(0, 2)
		used, _ := v.budget(v1alpha1.BudgetRestarts)
		v.is("only the second counts", used == 1 && v.job.Status.ChargedRestarts == 2)
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
