//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

var _ = Describe("Requests to the API server", Serial, Label("lab"), func() {
	// What else changes in a status than a condition is written once in three seconds: the slower the machine, the more such writes. All other
	// requests are the same on any machine. What an operator reads once when it has started is not of this job.
	It("of the operator are one for each child and Event of a job of 8 replicas, beside few writes of its status", promise, func() {
		submit(pytorch("first", workers(1))).runs(0, 0)
		isQuiet()
		before, begin := len(operatorRequests()), time.Now()
		submit(pytorch("p", allWorkers, workers(8, doing("run-for", "2s")))).succeeds()
		isQuiet()
		requests, took := operatorRequests()[before:], time.Since(begin)
		AddReportEntry("requests", summary(requests))
		isStatus := func(r *testbed.Request) bool { return r.Kind() == "update trainingjobs/status" }
		others := slices.DeleteFunc(slices.Clone(requests), isStatus)
		Expect(strings.Fields(summary(others))).To(Equal(strings.Fields("1 create services 2 create events 8 create pods")))
		turns := []string{v1alpha1.ConditionCreated, v1alpha1.ConditionScheduled, v1alpha1.ConditionRunning, v1alpha1.ConditionFinished}
		Expect(len(requests)-len(others)).To(BeNumerically("<=", len(turns)+1+int(took/(3*time.Second))), "writes of the status in %s", took)
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
