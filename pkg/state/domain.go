package state

import (
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// TopologyOf returns the topology that the job wants; nil for none.
func TopologyOf(spec *v1alpha1.TrainingJobSpec) *v1alpha1.Topology {
	if spec.Scheduling == nil {
		return nil
	}
	return spec.Scheduling.Topology
}

// RequiresDomain reports whether the job stays pending while no domain of its topology has room for it.
func RequiresDomain(spec *v1alpha1.TrainingJobSpec) bool {
	topology := TopologyOf(spec)
	return topology != nil && topology.Mode == v1alpha1.TopologyRequired
}

// InDomain reports whether the role's pods must be near each other: the roles that the topology names, or all roles except evaluators and
// launchers. Those exchange little data with the ranks and often run on other kinds of nodes. If the job has only a launcher, it counts.
func InDomain(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	switch topology := TopologyOf(spec); {
	case topology == nil:
		return false
	case len(topology.Roles) > 0:
		return slices.Contains(topology.Roles, role)
	default:
		return isNearRanks(role) || !slices.ContainsFunc(spec.Roles(), func(r v1alpha1.Role) bool { return isNearRanks(r) && spec.Replicas(r) > 0 })
	}
}

func isNearRanks(role v1alpha1.Role) bool {
	return role != v1alpha1.Evaluator && role != v1alpha1.Launcher
}

// RolesInDomain returns the job's roles whose pods are to be near each other; nil if they are all roles.
func RolesInDomain(spec *v1alpha1.TrainingJobSpec) []v1alpha1.Role {
	roles := spec.Roles()
	if inside := slices.DeleteFunc(slices.Clone(roles), func(role v1alpha1.Role) bool { return !InDomain(spec, role) }); len(inside) < len(roles) {
		return inside
	}
	return nil
}
