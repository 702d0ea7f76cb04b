package cluster

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainingjob/operator/test/lab/process"
)

func TestRestartNamesTheComponentsThereAre(t *testing.T) {
	dir := dirWith(t, State{})
	if err := Restart(context.Background(), string(dir), "etcd", 0, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("want an error about credentials that are not there, got %v", err)
	}
	if _, err := dir.writeCredentials(State{Ports: Ports{APIServer: 1}}); err != nil {
		t.Fatal(err)
	}
	err := Restart(context.Background(), string(dir), "kubelet", 0, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "choose one of etcd, kube-apiserver") {
		t.Errorf("want the names to choose from, got %v", err)
	}
}

func TestTheTokenIsReadAsItWasWritten(t *testing.T) {
	dir := dirWith(t, State{})
	want, err := dir.writeCredentials(State{Ports: Ports{APIServer: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dir.readToken(); got != want || err != nil {
		t.Errorf("got %q, error %v; want %q", got, err, want)
	}
}

func TestAKilledComponentKeepsItsPlaceInTheOrderOfStarts(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	child, err := process.Start(process.Program{Name: "etcd", Path: sleep, Args: []string{"60"}, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	state := State{Processes: []process.Process{child.Process, {Name: "kwok"}}}
	if err := state.kill("etcd"); err != nil || child.Alive() {
		t.Fatalf("it should be dead (error %v)", err)
	}
	next := process.Process{Name: "etcd", PID: 7}
	if state.replace(next); state.Processes[0] != next || state.Processes[1].Name != "kwok" {
		t.Errorf("got %+v", state.Processes)
	}
}
