package state

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// NamesOf returns which pods of the job have names in DNS: by the spec, or by framework. A collective whose ranks look up only their
// leader needs no other names.
func NamesOf(spec *v1alpha1.TrainingJobSpec) v1alpha1.DNSNames {
	switch find := TraitsOf(spec.Framework).FindLeader; {
	case spec.Network != nil && spec.Network.DNSNames != "":
		return spec.Network.DNSNames
	case find == OnlyLeader, find == UnlessElastic && spec.Elastic == nil:
		return v1alpha1.DNSNamesLeader
	default:
		return v1alpha1.DNSNamesAll
	}
}

// IsNamed reports whether the pods of the slot can be found in DNS.
func IsNamed(spec *v1alpha1.TrainingJobSpec, slot Slot) bool {
	return NamesOf(spec) == v1alpha1.DNSNamesAll || slot == Leader(spec)
}

// MovesPort reports whether the ranks may meet at another port in each attempt. The port stays the same if the leader's
// template declares or probes it, because a restart in place cannot change either.
func MovesPort(spec *v1alpha1.TrainingJobSpec) bool {
	traits, template := TraitsOf(spec.Framework), spec.ReplicaSpecs[Leader(spec).Role].Template.Spec
	port := traits.Port
	return traits.Meet && !slices.ContainsFunc(slices.Concat(template.InitContainers, template.Containers), func(c corev1.Container) bool {
		declares := slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.Name || p.ContainerPort == port.Default })
		return declares || slices.ContainsFunc([]*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe}, port.isLookedAt)
	})
}

// isLookedAt reports whether the probe looks at the port, by its name or its number.
func (m Port) isLookedAt(probe *corev1.Probe) bool {
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

// SSHSecretName returns the name of the Secret with an MPI job's key: another job of the same name has another key.
func SSHSecretName(job *v1alpha1.TrainingJob) string {
	uid := string(job.UID)
	return job.Name + "-" + uid[:min(len(uid), 8)] + "-ssh"
}

// RunsSSHD reports whether the main container of the role's pods is the operator's sshd: a worker of an MPI job that has nothing else to run.
func RunsSSHD(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	hasNoCommand := func(c *corev1.Container) bool { return len(c.Command)+len(c.Args) == 0 }
	return role == v1alpha1.Worker && spec.LaunchesBySSH() && HasMain(spec, role, hasNoCommand)
}
