//go:build e2e

package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// isAsked waits until every pod shows what its rank is asked, and returns the request's id and reason.
func (j *submitted) isAsked() (id, reason string) {
	GinkgoHelper()
	v := j.becomes("every rank is asked", func(v *view) bool {
		asked := v.job.Status.CheckpointRequest != nil && len(v.pods) > 0
		for i := range v.pods {
			asked = asked && v.pods[i].Annotations["trainingjob.dev/checkpoint-request"] != ""
		}
		return asked
	})
	words := strings.Fields(v.pods[0].Annotations["trainingjob.dev/checkpoint-request"])
	Expect(words).To(HaveLen(3), "id, reason and deadline")
	v.is("it runs on, and says why", v.job.Status.Phase == v1alpha1.PhaseRunning && v.job.Status.Reason == "StopAsked")
	return words[0], words[1]
}

var _ = Describe("Ranks that are well", func() {
	const patience = 600 // an answer ends the wait in these specs, or somebody's change of mind
	asking := builder.Asking(patience)

	It("are not stopped if they are needed again in the meantime", promise, func() {
		j := submit(pytorch("p", master(), workers(1), asking))
		before := j.runs(0, 0)
		j.suspend()
		j.isAsked()
		j.resume()
		j.becomes("nothing is asked any more", func(v *view) bool {
			return v.job.Status.CheckpointRequest == nil && isSame(before.uids(), v) && v.pods[0].Annotations["trainingjob.dev/checkpoint-request"] == ""
		})
		j.exits(0, "master-0")
		j.succeeds()
	})

	It("that do not answer are stopped when their time is over", func() {
		j := submit(pytorch("p", master(), workers(1), builder.Asking(3)))
		j.runs(0, 0)
		j.suspend()
		j.isAsked()
		j.becomes("it is suspended", func(v *view) bool { return v.job.Status.Phase == v1alpha1.PhaseSuspended })
		j.tells("CheckpointMissed", "No rank has confirmed")
	})
})
