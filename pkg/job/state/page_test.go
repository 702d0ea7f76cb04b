package state

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The page of a pod on the network of its node is read only at a port that the pod's main container declares at all addresses of the node, and
// only while that container runs: the docs promise no more to the owner of a node.
func TestWhereThePageOfAPodIsRead(t *testing.T) {
	ran := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"it declares the port and runs":         {func(*corev1.Pod) {}, "192.168.0.1"},
		"the API server has added the hostPort": {func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].HostPort = 9500 }, "192.168.0.1"},
		"another port comes first": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = append([]corev1.ContainerPort{{ContainerPort: 29500}}, p.Spec.Containers[0].Ports...)
		}, "192.168.0.1"},
		"it declares no port":           {func(p *corev1.Pod) { p.Spec.Containers[0].Ports = nil }, ""},
		"it declares another port":      {func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].ContainerPort = 9501 }, ""},
		"it declares a port of UDP":     {func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].Protocol = corev1.ProtocolUDP }, ""},
		"it declares it at one address": {func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].HostIP = "127.0.0.2" }, ""},
		"another hostPort":              {func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].HostPort = 9501 }, ""},
		"a side-car declares it": {func(p *corev1.Pod) {
			p.Spec.Containers[1].Ports, p.Spec.Containers[0].Ports = p.Spec.Containers[0].Ports, nil
		}, ""},
		"its main container has ended": {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = ran }, ""},
		"its main container waits":     {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = waits }, ""},
		"no status of a container yet": {func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, ""},
		"only its side-car runs": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].Name, p.Status.ContainerStatuses[1].Name = "side", "main"
		}, ""},
		"it was made without a page":    {func(p *corev1.Pod) { p.Spec.Containers[0].Env = nil }, ""},
		"the template set another port": {func(p *corev1.Pod) { p.Spec.Containers[0].Env[0].Value = "9100" }, ""},
		"on the network of pods":        {func(p *corev1.Pod) { p.Spec.HostNetwork, p.Status.PodIP = false, "10.1.2.3" }, "10.1.2.3"},
		"with the address of its node":  {func(p *corev1.Pod) { p.Spec.HostNetwork = false }, ""},
		"of the pods' network, no ports": {func(p *corev1.Pod) {
			p.Spec.HostNetwork, p.Status.PodIP, p.Spec.Containers[0].Ports = false, "10.1.2.3", nil
		}, "10.1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "j-worker-0"},
				Spec: corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{
					{Name: "main", Env: []corev1.EnvVar{{Name: "TRAININGJOB_PROGRESS_PORT", Value: "9500"}}, Ports: []corev1.ContainerPort{{ContainerPort: 9500}}}, {Name: "side"},
				}},
				Status: corev1.PodStatus{PodIP: "192.168.0.1", HostIP: "192.168.0.1", ContainerStatuses: []corev1.ContainerStatus{
					{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, {Name: "side", State: ran},
				}},
			}
			c.change(pod)
			if got := AddressOf(pod); got != c.want {
				t.Errorf("it is read at %q, want %q", got, c.want)
			}
		})
	}
}
