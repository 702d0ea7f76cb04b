//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/test/api/testbed"
)

// lab returns the lab that the specs run on.
func lab() *testbed.Lab {
	GinkgoHelper()
	lab, err := testbed.GivenLab()
	Expect(err).NotTo(HaveOccurred(), "this spec needs a lab: leave it out with --ginkgo.label-filter='!lab'")
	return lab
}

// requires fails on a lab, which is to have all that its specs need, if the cluster lacks something; on another cluster it
// skips the spec.
func requires(served bool, what string) {
	GinkgoHelper()
	if _, err := testbed.GivenLab(); !served && err != nil {
		Skip(what)
	}
	Expect(served).To(BeTrue(), what)
}

// The rights of manifests/base must suffice for all that the specs make the operator do, Kueue's adapter likewise.
var _ = AfterSuite(func() {
	if _, err := testbed.GivenLab(); err != nil {
		return
	}
	var denied []string
	for _, agent := range []string{operatorAgent, "trainingjob-kueue-adapter/"} {
		for _, r := range requestsOf(agent, (*testbed.Request).WasDenied) {
			denied = append(denied, fmt.Sprintf("%s of %s in %q", r.Kind(), r.User.Username, r.ObjectRef.Namespace))
		}
	}
	Expect(denied).To(BeEmpty(), "requests that were denied")
})

// operatorAgent is how the operator's user agent begins.
const operatorAgent = "trainingjob-operator/"

// operatorRequests returns what the operator has asked of the API server so far for this spec's namespace or for the whole
// cluster, without watches, which do not depend on jobs.
func operatorRequests() []*testbed.Request {
	GinkgoHelper()
	return auditLog(func(r *testbed.Request) bool {
		return r.Verb != "watch" && (r.ObjectRef.Namespace == here.namespace || r.ObjectRef.Namespace == "")
	})
}

// auditLog returns the requests of the operator that count.
func auditLog(counts func(*testbed.Request) bool) []*testbed.Request {
	GinkgoHelper()
	return requestsOf(operatorAgent, counts)
}

// requestsOf returns the requests of the user agents that begin so, if they count. Those of an operator that another suite on the
// same lab runs in somebody else's name are none of them.
func requestsOf(agent string, counts func(*testbed.Request) bool) []*testbed.Request {
	GinkgoHelper()
	requests, err := lab().Requests(agent, func(r *testbed.Request) bool {
		return strings.HasPrefix(r.UserAgent, agent) && r.ImpersonatedUser.Username == "" && r.ObjectRef.Resource != "" && counts(r)
	})
	Expect(err).NotTo(HaveOccurred())
	return requests
}

// summary counts requests by kind: "8 create pods".
func summary(requests []*testbed.Request) string {
	counts := map[string]int{}
	for _, r := range requests {
		counts[r.Kind()]++
	}
	var lines []string
	for kind, n := range counts {
		lines = append(lines, fmt.Sprintf("%4d %s", n, kind))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
