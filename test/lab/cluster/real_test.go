package cluster

import (
	"bytes"
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestOptionsOfRealNodesThatMakeNoSense(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"less than none":    {Options{Real: -1}, "0 to 24 real nodes"},
		"too many":          {Options{Real: 25}, "0 to 24 real nodes"},
		"GPUs below 0":      {Options{Real: 1, RealGPUs: -1}, "0 GPUs or more"},
		"images, but fakes": {Options{Images: []string{"x.tar"}}, "add --real 2"},
	} {
		if err := c.options.check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", name, c.want, err)
		}
	}
}

func TestALabWithoutRealNodesListensOnThisMachineAlone(t *testing.T) {
	if got := (State{Ports: Ports{APIServer: 20001}}).apiServer(); got != "127.0.0.1:20001" {
		t.Errorf("got %s", got)
	}
	if got := (State{Real: &Real{Nodes: 2}}).apiServer(); got != "198.18.4.1:443" {
		t.Errorf("got %s", got)
	}
}

func TestRealNodesAreNamed(t *testing.T) {
	two := State{Real: &Real{Nodes: 2, HardwareAddr: "02:00:00:00:00:2a"}}
	if i, err := two.realIndex("real-1"); i != 1 || err != nil {
		t.Errorf("got %d, %v", i, err)
	}
	for name, c := range map[string]struct {
		state State
		want  string
	}{
		"real-2": {two, "choose one of real-0, real-1"},
		"gpu-0":  {State{}, "lab up --real 2"},
	} {
		if _, err := c.state.realIndex(name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", name, c.want, err)
		}
	}
	if got := two.Real.cgroup(1); got != "tjlab-02000000002a-real-1" {
		t.Errorf("the cgroup is %s", got)
	}
}

func TestAPodSignalFindsItsContainer(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}, {Name: "agent"}}},
		Status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "side", ContainerID: "containerd://s", State: running}},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "main", ContainerID: "containerd://m", State: running},
				{Name: "agent", ContainerID: "containerd://a", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
			},
		},
	}
	for container, want := range map[string]string{"main": "m", "side": "s"} {
		if got, err := (PodSignal{Container: container}).containerID(pod); got != want || err != nil {
			t.Errorf("%s: got %q, %v", container, got, err)
		}
	}
	for container, want := range map[string]string{"": "--container", "agent": "does not run", "none": "no container none"} {
		if _, err := (PodSignal{Container: container}).containerID(pod); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", container, want, err)
		}
	}
}

func TestASignalThatDoesNotExistIsRefused(t *testing.T) {
	err := PodSignal{Dir: t.TempDir(), Signal: "SIGNOTHING"}.Send(context.Background(), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "SIGKILL") {
		t.Errorf("want an example, got %v", err)
	}
}

func TestTokensOfNodes(t *testing.T) {
	state := State{Ports: Ports{APIServer: 1}, Real: &Real{Nodes: 2}}
	dir := dirWith(t, state)
	admin, err := dir.writeCredentials(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.addRealCredentials(state); err != nil {
		t.Fatal(err)
	}
	if got, err := dir.readToken(); got != admin || err != nil {
		t.Errorf("the administrator's token is %q, want %q (%v)", got, admin, err)
	}
	first, err := dir.tokenOf("system:node:real-0")
	if err != nil {
		t.Fatal(err)
	}
	second, err := dir.tokenOf("system:node:real-1")
	if err != nil || first == second || first == admin {
		t.Errorf("nodes share a token (%v)", err)
	}
}
