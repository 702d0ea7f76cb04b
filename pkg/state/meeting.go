package state

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// MeetingPort is the port of the leader at which the ranks of a framework meet.
type MeetingPort struct {
	// Name is the name of the container port that sets it, Default the port without one.
	Name    string
	Default int32
}

// XGBoostPort is the name of the container port in manifests made for XGBoostJob, which are LightGBM's too.
const XGBoostPort = "xgboostjob-port"

var meetingPorts = map[v1alpha1.Framework]MeetingPort{
	v1alpha1.PyTorch: {"pytorchjob-port", 29500},
	v1alpha1.JAX:     {"jaxjob-port", 1234},
	v1alpha1.XGBoost: {XGBoostPort, 9999},
}

// MeetingPortOf returns the port at which the framework's ranks meet; ok is false if they do not meet at a port of their leader alone.
func MeetingPortOf(framework v1alpha1.Framework) (port MeetingPort, ok bool) {
	port, ok = meetingPorts[framework]
	return port, ok
}

// MovesPort reports whether the ranks may meet at another port in each attempt. They do not if the leader's template declares the port or has a
// probe look at it: both are the same in a pod that is restarted in place.
func MovesPort(spec *v1alpha1.TrainingJobSpec) bool {
	port, meets := MeetingPortOf(spec.Framework)
	template := spec.ReplicaSpecs[Leader(spec).Role].Template.Spec
	return meets && !slices.ContainsFunc(slices.Concat(template.InitContainers, template.Containers), func(c corev1.Container) bool {
		declares := slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.Name || p.ContainerPort == port.Default })
		return declares || slices.ContainsFunc([]*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe}, port.isLookedAt)
	})
}

// isLookedAt reports whether the probe looks at the port, by its name or its number.
func (m MeetingPort) isLookedAt(probe *corev1.Probe) bool {
	is := func(port intstr.IntOrString) bool { return port.String() == m.Name || port.IntVal == m.Default }
	switch {
	case probe == nil:
		return false
	case probe.TCPSocket != nil:
		return is(probe.TCPSocket.Port)
	case probe.HTTPGet != nil:
		return is(probe.HTTPGet.Port)
	default:
		return probe.GRPC != nil && probe.GRPC.Port == m.Default
	}
}
