package state

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Page is the progress page of a pod.
type Page struct {
	// Port is the port at which the pod was created to serve it; 0 for none. Address is the IP address at which the operator may read it
	// (AddressOf), and OnHost whether the pod is on the network of its node.
	Port    int32
	Address string
	OnHost  bool
}

// pagePortOf returns the port of the pod's progress page, as its main container got it; 0 for none, or if the template has set the variable
// to something else.
func pagePortOf(pod *corev1.Pod) int32 {
	c := MainOf(pod)
	if c == nil {
		return 0
	}
	text := EnvOf(c.Env, v1alpha1.EnvProgressPort)
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || text != strconv.FormatUint(port, 10) {
		return 0
	}
	return int32(port)
}

// AddressOf returns the IP address at which the operator may read the progress page of a pod; empty for none. A pod of the pods' network has
// an address of its own. On the network of its node the port belongs to the pod only while its main container declares it and runs: the scheduler
// keeps other pods that declare the port off the node, and once the container has ended another process may listen there.
func AddressOf(pod *corev1.Pod) string {
	holdsPort := PagePort(pod) != nil && mainStatus(pod).State.Running != nil
	switch isOnHost := pod.Spec.HostNetwork; {
	case pagePortOf(pod) == 0, isOnHost && !holdsPort, !isOnHost && pod.Status.PodIP == pod.Status.HostIP:
		return ""
	}
	return pod.Status.PodIP
}

// PagePort returns the declaration of the page's port in the pod's main container; nil if there is none. A port with a hostIP does not count,
// because the scheduler keeps it free at that address alone.
func PagePort(pod *corev1.Pod) *corev1.ContainerPort {
	c, port := MainOf(pod), pagePortOf(pod)
	if c == nil || port == 0 {
		return nil
	}
	at := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool {
		return p.ContainerPort == port && (p.HostPort == 0 || p.HostPort == port) && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) && p.HostIP == ""
	})
	if at < 0 {
		return nil
	}
	return &c.Ports[at]
}
