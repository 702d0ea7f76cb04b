package state

import "github.com/trainingjob/operator/apis/training/v1alpha1"

// NamesOf returns which pods of the job have names in DNS: by the spec, or by framework. A collective whose ranks look up only their
// leader needs no other names. The agents of an elastic PyTorch job exchange host names, and each of them may become the leader.
func NamesOf(spec *v1alpha1.TrainingJobSpec) v1alpha1.DNSNames {
	switch {
	case spec.Network != nil && spec.Network.DNSNames != "":
		return spec.Network.DNSNames
	case spec.Framework == v1alpha1.JAX, spec.Framework == v1alpha1.PyTorch && spec.Elastic == nil:
		return v1alpha1.DNSNamesLeader
	default:
		return v1alpha1.DNSNamesAll
	}
}

// IsNamed reports whether the pods of the slot can be found in DNS.
func IsNamed(spec *v1alpha1.TrainingJobSpec, slot Slot) bool {
	return NamesOf(spec) == v1alpha1.DNSNamesAll || slot == Leader(spec)
}
