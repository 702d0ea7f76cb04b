package state

import "github.com/trainingjob/operator/apis/training/v1alpha1"

// NamesOf returns which pods of the job can be found in DNS: what the spec says, else by framework. A collective whose ranks look only for
// their leader needs no more. The agents of an elastic PyTorch job tell each other host names, and any of them may be the one whose name counts.
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
