//go:build nodes

package nodes

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// recordedProcesses are the names of what the state of a lab says was started.
func recordedProcesses(l *laboratory) []string {
	var state struct{ Processes []struct{ Name string } }
	if l.ReadState(&state) != nil {
		return nil // not yet
	}
	var names []string
	for _, p := range state.Processes {
		names = append(names, p.Name)
	}
	return names
}

var _ = Describe("A second lab with real nodes", Serial, func() {
	It("has a network of its own, and lab down leaves nothing of it", func() {
		before := takeInventory()
		second := newLaboratory()
		DeferCleanup(os.RemoveAll, filepath.Dir(second.Dir))
		second.run("up", "--nodes", "0", "--real", "1")
		marks := second.marks()
		Expect(takeInventory().since(before, marks)).NotTo(BeEmpty(), "the inventory does not see a lab at all")
		second.run("down")
		Expect(takeInventory().since(before, marks)).To(BeEmpty())
	})

	It("leaves nothing after lab down when lab up was killed in the middle", func() {
		before := takeInventory()
		second := newLaboratory()
		DeferCleanup(os.RemoveAll, filepath.Dir(second.Dir))
		up := exec.Command(*labBinary, "up", "--dir", second.Dir, "--nodes", "0", "--real", "1")
		up.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		Expect(up.Start()).To(Succeed())
		Eventually(recordedProcesses).WithArguments(second).Should(ContainElement("real-0"))
		Expect(up.Process.Kill()).To(Succeed())
		_ = up.Wait() // says that it was killed
		marks := second.marks()
		Expect(takeInventory().since(before, marks)).NotTo(BeEmpty(), "the lab was not there yet: this shows nothing")
		second.run("down")
		Expect(takeInventory().since(before, marks)).To(BeEmpty())
	})
})
