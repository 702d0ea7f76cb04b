//go:build chaos

package chaos

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/test/api/testbed"
)

// requests returns what the operators were answered so far, by user.
func requests() map[string][]*testbed.Request {
	GinkgoHelper()
	all, err := lab.Requests(`"username":"operator-`, func(*testbed.Request) bool { return true })
	Expect(err).NotTo(HaveOccurred())
	found := map[string][]*testbed.Request{}
	for _, r := range all {
		found[r.ImpersonatedUser.Username] = append(found[r.ImpersonatedUser.Username], r)
	}
	return found
}
