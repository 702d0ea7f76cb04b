package realnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tree returns a process and all that descend from it, by their ids on this machine. Orphans of a node are children of its first
// process, so this is the whole node.
func tree(root int) ([]int, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		// Who has just ended is not there any more.
		if parent, err := strconv.Atoi(status(pid, "PPid")); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	found := []int{root}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found, nil
}

// status is a line of /proc/PID/status without its name, empty if there is none.
func status(pid int, name string) string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(content)) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Freeze stops every process of the node whose first process this is, as a machine stops that swaps or hangs. It comes back
// when all stand still.
func Freeze(init int) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		processes, err := tree(init)
		if err != nil {
			return err
		}
		running := slices.DeleteFunc(processes, isStill)
		if len(running) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("processes %v do not stop", running)
		}
		if err := signalAll(running, unix.SIGSTOP); err != nil {
			return err
		}
	}
}

// isStill reports whether a process is stopped or has ended.
func isStill(pid int) bool {
	state, _, _ := strings.Cut(status(pid, "State"), " ")
	return slices.Contains([]string{"", "T", "t", "Z", "X"}, state)
}

// Thaw lets the processes of a frozen node go on.
func Thaw(init int) error {
	processes, err := tree(init)
	if err != nil {
		return err
	}
	return signalAll(processes, unix.SIGCONT)
}

// KillKubelet kills the kubelet of the node whose first process this is.
func KillKubelet(init int) error {
	processes, err := tree(init)
	if err != nil {
		return err
	}
	for _, pid := range processes {
		if status(pid, "PPid") == strconv.Itoa(init) && programOf(pid) == "kubelet" {
			return signalAll([]int{pid}, unix.SIGKILL)
		}
	}
	return errors.New("no kubelet runs on the node at this moment")
}

// programOf returns the name that a process was started under; empty if it is not there any more.
func programOf(pid int) string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(string(content), "\x00")
	return name
}

func signalAll(processes []int, signal unix.Signal) error {
	for _, pid := range processes {
		if err := unix.Kill(pid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("sending %s to process %d: %w", unix.SignalName(signal), pid, err)
		}
	}
	return nil
}

// onMachine finds the process that has the given id in the pid namespace of the node.
func onMachine(init, inside int) (int, error) {
	processes, err := tree(init)
	if err != nil {
		return 0, err
	}
	for _, pid := range processes {
		// Its ids from here inwards: on the machine, in the node, in the container.
		ids := strings.Fields(status(pid, "NSpid"))
		if len(ids) > 1 && ids[1] == strconv.Itoa(inside) {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("process %d of the node is not there any more", inside)
}
