package realnode

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// family starts a shell with a child and returns the ids of both.
func family(t *testing.T) (parent, child int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "child")
	command := exec.Command("/bin/sh", "-c", `sleep 60 & echo $! >"$0"; wait`, file)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		_ = command.Wait()
	})
	for range 1000 {
		if content, _ := os.ReadFile(file); strings.HasSuffix(string(content), "\n") {
			child, err := strconv.Atoi(strings.TrimSpace(string(content)))
			if err != nil {
				t.Fatal(err)
			}
			return command.Process.Pid, child
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the child did not come")
	return 0, 0
}

func TestATreeHasTheProcessAndAllBelowIt(t *testing.T) {
	parent, child := family(t)
	got, err := tree(parent)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(got, parent) || !slices.Contains(got, child) || slices.Contains(got, os.Getpid()) {
		t.Errorf("the tree of %d is %v, want it and %d", parent, got, child)
	}
}

func TestFreezeStopsAllAndThawLetsThemGoOn(t *testing.T) {
	parent, child := family(t)
	if err := Freeze(parent); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{parent, child} {
		if state := status(pid, "State"); !strings.HasPrefix(state, "T") {
			t.Errorf("process %d is %q after freeze", pid, state)
		}
	}
	if err := Thaw(parent); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{parent, child} {
		if state := status(pid, "State"); strings.HasPrefix(state, "T") {
			t.Errorf("process %d is %q after thaw", pid, state)
		}
	}
}

func TestInitIsNoCommandForAShell(t *testing.T) {
	if err := Init(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "started by lab up") {
		t.Errorf("want a refusal, got %v", err)
	}
}

func TestAMissingControllerIsNamed(t *testing.T) {
	if err := missing([]string{"cpu", "memory"}, []string{"cpu", "memory"}); err != nil {
		t.Errorf("nothing is missing: %v", err)
	}
	err := missing([]string{"cpu"}, []string{"cpu", "memory"})
	if err == nil || !strings.Contains(err.Error(), `"memory"`) || !strings.Contains(err.Error(), "--real 0") {
		t.Errorf("want the name and what to do instead, got %v", err)
	}
}
