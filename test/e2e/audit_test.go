//go:build e2e

package e2e

import (
	"bufio"
	"cmp"
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
	dir, there := findLab()
	Expect(there).To(BeTrue(), "this spec needs a lab: set LAB_DIR to its work folder, or leave it out with --ginkgo.label-filter='!lab'")
	return dir
}

func findLab() (dir string, there bool) {
	dir = cmp.Or(os.Getenv("LAB_DIR"), filepath.Dir(os.Getenv("KUBECONFIG")))
	_, err := os.Stat(filepath.Join(dir, "lab.json"))
	return dir, err == nil
}

// requires fails on a lab, which is to have all that its specs need, if the cluster lacks something; on another cluster it
// skips the spec.
func requires(served bool, what string) {
	GinkgoHelper()
	if _, isLab := findLab(); !served && !isLab {
		Skip(what)
	}
	Expect(served).To(BeTrue(), what)
}

// The rights of manifests/base must suffice for all that the specs make the operator do, Kueue's adapter likewise.
var _ = AfterSuite(func() {
	if _, isLab := findLab(); !isLab {
		return
	}
	var denied []string
	for _, agent := range []string{operatorAgent, "trainingjob-kueue-adapter/"} {
		for _, r := range requestsOf(agent, (*request).wasDenied) {
			denied = append(denied, fmt.Sprintf("%s of %s in %q", r, r.User.Username, r.ObjectRef.Namespace))
		}
	}
	Expect(denied).To(BeEmpty(), "requests that were denied")
})

// operatorAgent is how the operator's user agent begins.
const operatorAgent = "trainingjob-operator/"

// request is a line of the API server's audit log.
type request struct {
	Verb        string
	UserAgent   string
	User        struct{ Username string }
	Annotations map[string]string
	ObjectRef   *struct{ Resource, Subresource, Namespace, Name string }
	// ImpersonatedUser is whom the user speaks for: the operator that test/api runs in another's name.
	ImpersonatedUser *struct{ Username string }
}

// wasDenied reports whether its sender has no right to what it asks for. What an admission plug-in refuses is no such thing.
func (r *request) wasDenied() bool { return r.Annotations["authorization.k8s.io/decision"] == "forbid" }

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
	return requestsOf(operatorAgent, counts)
}

// requestsOf returns the requests of the user agents that begin so, if they count. Those of an operator that another suite on the
// same lab runs in somebody else's name are none of them.
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
		if strings.HasPrefix(r.UserAgent, agent) && r.ImpersonatedUser == nil && counts(&r) {
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
