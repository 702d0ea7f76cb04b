//go:build nodes

package nodes

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/test/api/testbed"
)

// silence is how long a node may be silent before it counts as lost.
const silence = 8 * time.Second

// laboratory is a lab of this suite.
type laboratory struct{ *testbed.Lab }

func newLaboratory() *laboratory {
	GinkgoHelper()
	made, err := testbed.NewLab(*labBinary, "nodes-")
	Expect(err).NotTo(HaveOccurred())
	return &laboratory{made}
}

// run runs a command of the lab's binary on this lab and returns what it says.
func (l *laboratory) run(command ...string) string {
	GinkgoHelper()
	said, err := l.Run(context.Background(), command...)
	Expect(err).NotTo(HaveOccurred())
	return said
}

// do makes the trainer in a pod obey a command.
func (l *laboratory) do(pod string, command ...string) {
	GinkgoHelper()
	said, err := l.Kubectl(context.Background(), append([]string{"exec", pod, "--container=main", "--", "/program", "do"}, command...)...)
	Expect(err).NotTo(HaveOccurred(), said)
}

// end ends the lab. Its files are kept for whoever wants to know why a spec has failed.
func (l *laboratory) end(keepFiles bool) {
	GinkgoHelper()
	Expect(l.End(context.Background(), keepFiles)).To(Succeed())
	if keepFiles {
		progress.Say("the lab has ended; its files are in %s", l.Dir)
	}
}
