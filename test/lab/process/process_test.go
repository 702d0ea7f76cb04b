package process

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, script string) *Child {
	t.Helper()
	child, err := Start(Program{Name: "probe", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Stop() })
	return child
}

func TestAProcessIsKnownByPIDAndStartTime(t *testing.T) {
	child := start(t, "sleep 60")
	if !child.Alive() {
		t.Fatal("it should be alive")
	}
	successor := child.Process
	successor.StartTicks++
	if successor.Alive() {
		t.Error("a process with the same pid and another start time is another process")
	}
	if err := successor.Stop(); err != nil || !child.Alive() {
		t.Errorf("stopping a process that has gone must not touch the one that now has its pid (error %v)", err)
	}
	if err := child.Stop(); err != nil || child.Alive() {
		t.Errorf("it should be gone (error %v)", err)
	}
}

func TestStopKillsWhatIgnoresSIGTERM(t *testing.T) {
	deaf := filepath.Join(t.TempDir(), "deaf")
	child := start(t, "trap '' TERM; : >"+deaf+"; while :; do sleep 0.1; done")
	awaitFile(t, deaf)
	begin := time.Now()
	if err := child.Stop(); err != nil || child.Alive() {
		t.Errorf("it should be gone (error %v)", err)
	}
	if took := time.Since(begin); took < politeTime {
		t.Errorf("it was killed after %s, before its time to leave was over", took)
	}
}

// awaitFile waits until the file is there.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s did not come", path)
}

func TestWaitHealthyTellsWhyNot(t *testing.T) {
	ok := httptest.NewServer(http.NotFoundHandler())
	defer ok.Close()
	health := Health{URL: ok.URL, Within: 300 * time.Millisecond}

	err := start(t, "echo cannot bind; exit 3").WaitHealthy(context.Background(), Health{URL: ok.URL, Within: time.Minute})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "cannot bind") {
		t.Errorf("want exit status and log, got %v", err)
	}
	err = start(t, "echo still thinking; sleep 60").WaitHealthy(context.Background(), health)
	if err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), "still thinking") {
		t.Errorf("want the endpoint's answer and log, got %v", err)
	}
}

func TestAProcessIsFoundThatNobodyHasRecorded(t *testing.T) {
	child := start(t, "sleep 60; :")
	found, err := StartedIn(filepath.Dir(child.Log))
	if err != nil {
		t.Fatal(err)
	}
	// The shell's own child has the mark as well, and ends with the shell.
	if len(found) != 1 || found[0].PID != child.PID || found[0].StartTicks != child.StartTicks || found[0].Name != "probe" {
		t.Errorf("found %+v, want probe with pid %d alone", found, child.PID)
	}
	if others, err := StartedIn(t.TempDir()); err != nil || len(others) > 0 {
		t.Errorf("in another folder: found %+v, %v", others, err)
	}
}
