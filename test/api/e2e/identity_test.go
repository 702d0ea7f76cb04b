//go:build e2e

package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// #1101 #2735: created, never reachable, no message.
var _ = Describe("A long name #1101 #2735", func() {
	It("that fits works from the first pod to a replacement and success", promise, func() {
		j := submit(custom(strings.Repeat("n", 63-len("-worker-0")), workers(1)))
		j.runs(0, 0)
		j.exits(137, "worker-0")
		v := j.runs(0, 1)
		Expect(v.pod("worker-0").Spec.Hostname).To(Equal(j.name + "-worker-0"))
		j.exits(0, "worker-0")
		j.succeeds()
	})
})

// An unparsable label on a pod crashed or stalled controllers: JobSet's label parsing, Argo CVE-2026-40886.
var _ = Describe("Labels of a pod", func() {
	relabel := func(j *submitted, slot, labels string) {
		GinkgoHelper()
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": `+labels+`}}`))
		Expect(kube.Patch(here.ctx, j.pod(slot), patch)).To(Succeed())
	}

	It("that are edited to nonsense do no harm: its failure is still its own", func() {
		j := submit(everyRole())
		before := j.runs(0, 0)
		relabel(j, "worker-1", `{"trainingjob.dev/index": "x", "trainingjob.dev/role": "ps", "trainingjob.dev/life": "9-9", "trainingjob.dev/attempt": "99999999999999999999",
			"trainingjob.dev/rank": "", "trainingjob.dev/job-name": "another", "trainingjob.dev/job-uid": "none"}`)
		j.stays("nothing is counted", func(v *view) bool { return v.job.Status.Restarts == 0 && isSame(before.uids(), v) })
		j.exits(137, "worker-1")
		v := j.becomes("worker 1 was replaced", func(v *view) bool { return v.job.Status.Restarts == 1 && v.allRun() })
		v.is("worker 1 failed, as worker 1", v.job.Status.LastFailure.Role == v1alpha1.Worker && v.job.Status.LastFailure.Index == 1)
		onlyReplaced("worker-1", before, v)
	})

	It("that are removed do no harm: the pod is not lost, and no second one is made", func() {
		j := submit(everyRole())
		before := j.runs(0, 0)
		relabel(j, "worker-1", `null`)
		j.stays("nothing is counted", func(v *view) bool { return v.job.Status.Restarts == 0 && isSame(before.uids(), v) })
		j.exits(137, "worker-2")
		v := j.becomes("worker 2 was replaced", func(v *view) bool { return v.job.Status.Restarts == 1 && len(v.uids()) == 7 })
		v.is("worker 1 is the same pod", before.uids()["worker-1"] == v.uids()["worker-1"])
	})
})
