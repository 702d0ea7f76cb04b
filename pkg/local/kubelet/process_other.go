//go:build !linux

package kubelet

import (
	"os/exec"
	"syscall"
)

// Supported reports whether pods can run as processes of this system.
const Supported = false

func attributes() *syscall.SysProcAttr { return nil }

func signalGroup(int, syscall.Signal) {}

func freezeGroup(int) {}

func exitCode(cmd *exec.Cmd) int32 { return int32(cmd.ProcessState.ExitCode()) }

func killMarked(string) {}

func enter(*exec.Cmd, *layer) {}

func canOverlay(string, string) bool { return false }
