//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// coveringAll has quota for CPUs and memory too, as much as anybody asks for.
func coveringAll(_, cluster fields) {
	group := cluster["resourceGroups"].([]any)[0].(fields)
	flavor := group["flavors"].([]any)[0].(fields)
	group["coveredResources"] = append(group["coveredResources"].([]any), "cpu", "memory")
	flavor["resources"] = append(flavor["resources"].([]any), fields{"name": "cpu", "nominalQuota": 1000}, fields{"name": "memory", "nominalQuota": "10Ti"})
}

var _ = Describe("A job in a queue of Kueue", Serial, Label("Kueue"), func() {
	var q *queue

	AfterEach(func() { q.holds() })

	Context("that is elastic", func() {
		It("starts with fewer workers when the quota is short, and asks for all of them the next time", func() {
			q = newQueue(2)
			j := q.submit("partial", 4, elastic(2, 4))
			v := j.runs(0, 0)
			v.is("two run", v.job.Spec.Replicas(v1alpha1.Worker) == 2 && len(v.pods) == 2)
			q.stops("HoldAndDrain")
			v = j.waits(q)
			v.is("it asks for four", v.job.Spec.Replicas(v1alpha1.Worker) == 4)
			q.grows(4)
			q.stops("None")
			v = j.runs(0, 0)
			v.is("four run", len(v.pods) == 4)
		})

		It("goes back to its queue when it is scaled, and runs with the new size", mutated, func() {
			q = newQueue(3)
			j := q.submit("scaled", 2, elastic(1, 4))
			before := j.runs(0, 0)
			Expect(j.patched(`{"spec": {"replicaSpecs": {"Worker": {"replicas": 3}}}}`)).To(Succeed())
			v := j.becomes("three run, all of them new", func(v *view) bool {
				return len(v.pods) == 3 && v.allRun() && v.job.Status.Ready == "3/3" && v.uids()["worker-0"] != before.uids()["worker-0"]
			})
			v.is("nothing failed", v.job.Status.Restarts == 0 && v.job.Status.Attempt == 0)
		})
	})
})
