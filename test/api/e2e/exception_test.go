//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

// failedPods names the job's pods that have failed.
func failedPods(v *view) []string {
	var names []string
	for i := range v.pods {
		if v.pods[i].Status.Phase == corev1.PodFailed {
			names = append(names, v.pods[i].Name)
		}
	}
	return names
}

// The commonest failure of all: one rank raises an exception, the connections of the others break, and all end with code 1.
var _ = Describe("An exception in one rank", func() {
	It("is named by its words, and the logs of all ranks are kept until the next restart", promise, func() {
		j := submit(pytorch("p", workers(3)))
		j.runs(0, 0)
		j.does(testbed.Annotations{"exit-message": "RuntimeError: Connection closed by peer [10.0.0.3]:2993"}, "worker-0", "worker-1")
		j.does(testbed.Annotations{"exit-message": "ValueError: batch 17 is empty"}, "worker-2")
		j.exits(1, "worker-0", "worker-1", "worker-2")
		v := j.runs(1, 1)
		Expect(v.job.Status.LastFailure.Index).To(BeEquivalentTo(2))
		Expect(v.job.Status.LastFailure.Message).To(Equal("ValueError: batch 17 is empty"))
		Expect(failedPods(v)).To(ConsistOf("p-worker-0", "p-worker-1", "p-worker-2"))
		j.tells(v1alpha1.EventRestarting, "worker-2", "ValueError", "Likewise ended worker-0, worker-1")
		j.exits(42, "worker-1")
		j.runs(2, 2)
		j.becomes("their pods are gone with the next restart", func(v *view) bool { return len(failedPods(v)) == 1 })
	})
})
