//go:build nodes

package nodes

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// inventory is what a lab could leave on this machine: links, addresses, routes, mounts, cgroups, settings of the kernel, processes.
type inventory []string

func takeInventory() inventory {
	GinkgoHelper()
	return slices.Concat(links(), lines("/proc/self/mountinfo", "mount"), lines("/proc/net/route", "route"), groups(), kernelSettings(), labProcesses())
}

// mark is in the name of every link and cgroup of a lab.
const mark = "tjlab"

// since returns what is here and was not before. Other labs may begin and end on this machine meanwhile: what has the mark of a lab
// counts only if it has one of ours.
func (i inventory) since(before inventory, ours []string) inventory {
	return slices.DeleteFunc(slices.Clone(i), func(entry string) bool {
		other := strings.Contains(entry, mark) && !slices.ContainsFunc(ours, func(m string) bool { return strings.Contains(entry, m) })
		return other || slices.Contains(before, entry)
	})
}

// marks are those of a lab that is up.
func (l *laboratory) marks() []string {
	GinkgoHelper()
	var state struct {
		Real struct {
			HardwareAddr string
			Block        int
		}
	}
	Expect(l.ReadState(&state)).To(Succeed())
	return []string{
		fmt.Sprintf("%s%d", mark, state.Real.Block), mark + "-" + strings.ReplaceAll(state.Real.HardwareAddr, ":", ""),
	}
}

func links() []string {
	GinkgoHelper()
	all, err := net.Interfaces()
	Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, link := range all {
		addresses, err := link.Addrs()
		Expect(err).NotTo(HaveOccurred())
		found = append(found, "link "+link.Name)
		for _, address := range addresses {
			found = append(found, "address "+link.Name+" "+address.String())
		}
	}
	return found
}

func lines(file, kind string) []string {
	GinkgoHelper()
	content, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	var found []string
	for line := range strings.Lines(string(content)) {
		found = append(found, kind+" "+strings.TrimSpace(line))
	}
	return found
}

// groups lists all cgroups of the machine, of labs or not.
func groups() []string {
	GinkgoHelper()
	var found []string
	Expect(filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			found = append(found, "cgroup "+path)
		}
		return nil // one may go while it is listed
	})).To(Succeed())
	return found
}

// kernelSettings are those that a kubelet or a router sets on its machine.
func kernelSettings() []string {
	var found []string
	for _, name := range []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
		"kernel/hostname", "net/ipv4/ip_forward",
	} {
		value, err := os.ReadFile("/proc/sys/" + name)
		if err == nil {
			found = append(found, "setting "+name+"="+strings.TrimSpace(string(value)))
		}
	}
	return found
}

// labProcesses are the processes whose command names a folder of this suite's labs, and those in cgroups of labs.
func labProcesses() []string {
	GinkgoHelper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, file := range commands {
		command, err := os.ReadFile(file)
		if err != nil || len(command) == 0 {
			continue // it has ended; the machine's init may not have collected it yet
		}
		group, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cgroup"))
		if strings.Contains(string(command), "/nodes-") || strings.Contains(string(group), "/tjlab-") {
			found = append(found, "process "+strings.ReplaceAll(string(command), "\x00", " ")+" in "+string(group))
		}
	}
	return found
}
