//go:build e2e

package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("A job of another controller (managedBy)", func() {
	It("is left alone", func() {
		j := submit(pytorch("p", managedBy("kueue.x-k8s.io/multikueue"), workers(2)))
		j.stays("it has no status, no pods and no Service", func(v *view) bool {
			return len(v.job.Status.Conditions) == 0 && v.job.Status.Phase == "" && len(v.pods) == 0 &&
				apierrors.IsNotFound(kube.Get(here.ctx, j.key(), &corev1.Service{}))
		})
	})

	It("is run if it is this operator that managedBy names", func() {
		j := submit(pytorch("p", managedBy(v1alpha1.OperatorName), workers(2)))
		j.runs(0, 0)
		j.exits(0, "worker-0")
		j.succeeds()
	})
})

// #1101 #2735: created, never reachable, no message.
var _ = Describe("A long name #1101 #2735", func() {
	const room = 63 - len("-worker-0")

	It("that fits works from the first pod to a replacement and success", promise, func() {
		j := submit(custom(strings.Repeat("n", room), workers(1)))
		j.runs(0, 0)
		j.exits(137, "worker-0")
		v := j.runs(0, 1)
		Expect(v.pod("worker-0").Spec.Hostname).To(Equal(j.name + "-worker-0"))
		j.exits(0, "worker-0")
		j.succeeds()
	})

	It("that does not fit is refused with a sentence", func() {
		err := kube.Create(here.ctx, custom(strings.Repeat("n", room+1), workers(1)))
		Expect(err).To(MatchError(ContainSubstring("write a shorter name")))
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
