package cluster

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainingjob/operator/test/lab/process"
)

func dirWith(t *testing.T, state State) Dir {
	t.Helper()
	dir := Dir(filepath.Join(t.TempDir(), "lab"))
	if err := os.Mkdir(string(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := dir.writeState(state); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestALiveLabIsLeftAloneAndADeadOneRemoved(t *testing.T) {
	self, err := process.Self("etcd")
	if err != nil {
		t.Fatal(err)
	}
	alive := dirWith(t, State{Processes: []process.Process{self}})
	if err := alive.prepare(); err == nil || !strings.Contains(err.Error(), "make lab-down") {
		t.Errorf("want a refusal that says how to end the lab, got %v", err)
	}

	self.StartTicks++ // the pid is now another process's
	dead := dirWith(t, State{Processes: []process.Process{self}})
	if err := os.WriteFile(dead.file("etcd.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dead.prepare(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(string(dead)); len(entries) != 0 {
		t.Errorf("the dead lab left %v", entries)
	}
}

// etcd of the lab asks nobody who calls, and the folder has every key: it is not for other users of the machine.
func TestTheFolderIsItsOwnersAlone(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "lab"))
	if err := dir.prepare(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(string(dir))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("the folder has mode %o, want 700", got)
	}
}

func TestAFolderOfSomebodyElseIsLeftAlone(t *testing.T) {
	dir := Dir(t.TempDir())
	if err := os.WriteFile(dir.file("thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dir.prepare(); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("want a refusal, got %v", err)
	}
	var out bytes.Buffer
	if err := Down(string(dir), false, &out); err != nil || !strings.Contains(out.String(), "nothing to end") {
		t.Errorf("want a sentence, got %q, %v", out.String(), err)
	}
	if _, err := os.Stat(dir.file("thesis.tex")); err != nil {
		t.Error(err)
	}
}

func TestDownRemovesTheFolder(t *testing.T) {
	dir := dirWith(t, State{})
	if err := Down(string(dir), false, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there (%v)", err)
	}
}

func TestStateIsReadAsItWasWritten(t *testing.T) {
	ports, err := freePorts()
	if err != nil {
		t.Fatal(err)
	}
	want := State{Ports: ports, GPUs: 8, Processes: []process.Process{{Name: "etcd", PID: 7, StartTicks: 9, Log: "l"}}}
	got, err := dirWith(t, want).readState()
	if err != nil {
		t.Fatal(err)
	}
	if got.Ports != want.Ports || got.GPUs != want.GPUs || len(got.Processes) != 1 || got.Processes[0] != want.Processes[0] {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDownKeepsTheFilesWhenAsked(t *testing.T) {
	dir := dirWith(t, State{})
	if err := Down(string(dir), true, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir.stateFile()); err != nil {
		t.Error(err)
	}
}
