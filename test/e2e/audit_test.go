//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// labDir returns the work folder of the lab: LAB_DIR, or else the folder of KUBECONFIG.
func labDir() string {
	GinkgoHelper()
	dir := os.Getenv("LAB_DIR")
	if dir == "" {
		dir = filepath.Dir(os.Getenv("KUBECONFIG"))
	}
	Expect(filepath.Join(dir, "lab.json")).To(BeAnExistingFile(),
		"this spec needs a lab: set LAB_DIR to its work folder, or leave it out with --ginkgo.label-filter='!lab'")
	return dir
}

// request is a line of the API server's audit log.
type request struct {
	Verb      string
	UserAgent string
	ObjectRef *struct{ Resource, Subresource, Namespace, Name string }
}

func (r request) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s/%s", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Subresource), "/")
}

// operatorRequests returns what the operator has asked of the API server so far for this spec's namespace or for the whole
// cluster, without watches, which do not depend on jobs.
func operatorRequests() []request {
	GinkgoHelper()
	return auditLog(func(r *request) bool {
		return r.Verb != "watch" && (r.ObjectRef.Namespace == here.namespace || r.ObjectRef.Namespace == "")
	})
}

// auditLog returns the requests of the operator that count.
func auditLog(counts func(*request) bool) []request {
	GinkgoHelper()
	return requestsOf("trainingjob-operator/", counts)
}

// requestsOf returns the requests of the user agents that begin so, if they count.
func requestsOf(agent string, counts func(*request) bool) []request {
	GinkgoHelper()
	file, err := os.Open(filepath.Join(labDir(), "audit.log"))
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	var found []request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if !strings.Contains(lines.Text(), agent) || json.Unmarshal(lines.Bytes(), &r) != nil || r.ObjectRef == nil {
			continue
		}
		if strings.HasPrefix(r.UserAgent, agent) && counts(&r) {
			found = append(found, r)
		}
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return found
}

// summary counts requests by kind: "8 create pods".
func summary(requests []request) string {
	counts := map[string]int{}
	for _, r := range requests {
		counts[r.String()]++
	}
	var lines []string
	for kind, n := range counts {
		lines = append(lines, fmt.Sprintf("%4d %s", n, kind))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
