//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// namespacesAvoiding returns how many namespaces have jobs that avoid the node as it broke, as the metrics of the lab's operator say.
func namespacesAvoiding(node string) int {
	GinkgoHelper()
	found := regexp.MustCompile(fmt.Sprintf(`(?m)^trainingjob_avoided_nodes\{kind="fault",node=%q\} (\d+)$`, node)).FindStringSubmatch(metrics())
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	Expect(err).NotTo(HaveOccurred())
	return n
}

// metrics returns what the lab's operator tells Prometheus.
func metrics() string {
	GinkgoHelper()
	var state struct{ Ports struct{ OperatorMetrics int } }
	Expect(lab().ReadState(&state)).To(Succeed())
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", state.Ports.OperatorMetrics))
	Expect(err).NotTo(HaveOccurred())
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	Expect(err).NotTo(HaveOccurred())
	return string(body)
}
