//go:build e2e

package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("Requests to the API server", Serial, Label("lab"), func() {
	It("of the operator are 16 at most for a job of 8 replicas from submission to success, Events included", promise, func() {
		before := len(operatorRequests())
		j := submit(pytorch("p", workers(8, doing("run-for", "2s"))))
		j.succeeds()
		isQuiet()
		requests := operatorRequests()[before:]
		AddReportEntry("requests", summary(requests))
		Expect(summary(requests)).To(ContainSubstring("8 create pods"), "what the audit log shows")
		Expect(len(requests)).To(BeNumerically("<=", 16), "\n%s", summary(requests))
	})

	It("of the operator are none while jobs run and nothing happens, with progress and nodes that are avoided too", func() {
		for i := range 4 {
			submit(pytorch(fmt.Sprintf("p%d", i), workers(4))).runs(0, 0)
		}
		node := fakeNodes(1)[0]
		j := submit(pytorch("rich", reporting(600, v1alpha1.StallRestart), elastic(1, 4), workers(3, preferring(node))))
		j.runs(0, 0)
		for restarts := range int32(2) {
			j.exits(1, "worker-1")
			j.runs(0, restarts+1)
		}
		j.becomes("it avoids a node", func(v *view) bool { return len(v.job.Status.AvoidedNodes) == 1 })
		isQuiet()
		before := len(operatorRequests())
		Expect(before).To(BeNumerically(">", 0), "the audit log shows nothing of the operator")
		Consistently(func() string { return summary(operatorRequests()[before:]) }).
			WithTimeout(10 * time.Second).WithPolling(time.Second).Should(BeEmpty())
	})
})

// isQuiet waits until the operator has asked nothing for two seconds.
func isQuiet() {
	GinkgoHelper()
	last, since := -1, time.Now()
	Eventually(func() time.Duration {
		if now := len(operatorRequests()); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since)
	}).WithPolling(200*time.Millisecond).Should(BeNumerically(">", 2*time.Second), "the operator does not come to rest")
}
