package kubelet

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// Supported reports whether pods can run as processes of this system.
const Supported = true

// attributes makes the process the leader of a group. The kernel ends it with the thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// signalGroup sends the signal to the process group, if it exists.
func signalGroup(leader int, signal syscall.Signal) { _ = syscall.Kill(-leader, signal) }

// freezeGroup stops the processes of the group, until a signal ends them.
func freezeGroup(leader int) { signalGroup(leader, syscall.SIGSTOP) }

// exitCode returns the exit code as a container runtime reports it: 128 + signal for a process that a signal has ended.
func exitCode(cmd *exec.Cmd) int32 {
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(cmd.ProcessState.ExitCode())
}

// killMarked ends every process that has inherited the variable, in whatever group and session: some launchers start ranks in sessions of
// their own. It repeats this until there is none, since a process may fork meanwhile.
func killMarked(variable string) {
	for range mostRounds {
		found := false
		for _, pid := range marked(variable) {
			found = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if !found {
			return
		}
	}
}

const mostRounds = 1000

// marked returns the processes whose environment has the variable. Processes of other users cannot be read and are left out, as are
// ended ones.
func marked(variable string) []int {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	want := []byte(variable + "\x00")
	var pids []int
	for _, folder := range folders {
		environment, err := os.ReadFile(filepath.Join(folder, "environ"))
		if err != nil || !bytes.HasPrefix(environment, want) && !bytes.Contains(environment, append([]byte{0}, want...)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
