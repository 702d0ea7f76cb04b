//go:build nodes

package nodes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// silence is how long a node may be silent before it counts as lost.
const silence = 8 * time.Second

// laboratory is a lab of this suite.
type laboratory struct{ dir string }

func newLaboratory() *laboratory {
	GinkgoHelper()
	parent, err := os.MkdirTemp("", "nodes-")
	Expect(err).NotTo(HaveOccurred())
	return &laboratory{filepath.Join(parent, "lab")}
}

func (l *laboratory) file(name string) string { return filepath.Join(l.dir, name) }

// run runs a command of the lab's binary on this lab and returns what it says.
func (l *laboratory) run(command ...string) string {
	GinkgoHelper()
	said, err := exec.Command(*labBinary, append(command, "--dir", l.dir)...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "lab %q says:\n%s", command, said)
	return string(said)
}

// kubectl returns what the lab's kubectl writes; it may fail.
func (l *laboratory) kubectl(args ...string) (string, error) {
	command := exec.Command(*labBinary, append([]string{"kubectl", "--kubeconfig", l.file("kubeconfig")}, args...)...)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	err := command.Run()
	return said.String(), err
}

// do makes the trainer in a pod obey a command.
func (l *laboratory) do(pod string, command ...string) {
	GinkgoHelper()
	said, err := l.kubectl(append([]string{"exec", pod, "--container=main", "--", "/program", "do"}, command...)...)
	Expect(err).NotTo(HaveOccurred(), said)
}

// end ends the lab. Its files are kept for whoever wants to know why a spec has failed.
func (l *laboratory) end(keepFiles bool) {
	GinkgoHelper()
	if keepFiles {
		l.run("down", "--keep-files")
		say("the lab has ended; its files are in %s", l.dir)
		return
	}
	l.run("down")
	Expect(os.Remove(filepath.Dir(l.dir))).To(Succeed())
}
