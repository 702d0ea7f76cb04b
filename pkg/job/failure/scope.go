package failure

import (
	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// ScopeOf returns what restarts when a replica of the slot breaks: the role's restartScope, else the framework's default.
//
//	                     Worker   Chief/Master/Launcher   PS    Evaluator, own roles
//	TensorFlow, Paddle   Replica  Replica                 Job   Replica     the PS hold the variables
//	with PS
//	collective           Job      Job                     -     Replica     no rank can go on without the others
//	elastic PyTorch      Replica  Job                     -     Replica     the others meet again; rank 0 hosts the
//	                                                                        rendezvous, unless it has an endpoint of its own
//	Custom               Replica  Replica, Launcher: Job  Job   Replica
func ScopeOf(spec *v1alpha1.TrainingJobSpec, slot state.Slot) v1alpha1.RestartScope {
	role := slot.Role
	if own := spec.ReplicaSpecs[role].RestartScope; own != "" {
		return own
	}
	switch {
	case !state.IsNeeded(role):
		return v1alpha1.ScopeReplica
	case role == v1alpha1.PS, role == v1alpha1.Launcher:
		return v1alpha1.ScopeJob
	case !state.IsCollective(spec):
		return v1alpha1.ScopeReplica
	case spec.Elastic != nil && !state.HostsRendezvous(spec, slot):
		return v1alpha1.ScopeReplica
	default:
		return v1alpha1.ScopeJob
	}
}

// IsApart reports whether the failures of the role cost the training nothing: it does not need the role, and does not restart with it. The role
// then has a budget of its own, and beyond it a replica is given up.
func IsApart(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	return !state.IsNeeded(role) && spec.ReplicaSpecs[role].RestartScope != v1alpha1.ScopeJob
}

// Scopes returns by role what restarts when a replica of it breaks. For elastic workers it is the scope of replica 1, because replica 0
// can host their rendezvous.
func Scopes(spec *v1alpha1.TrainingJobSpec) map[v1alpha1.Role]v1alpha1.RestartScope {
	all := map[v1alpha1.Role]v1alpha1.RestartScope{}
	for role := range spec.ReplicaSpecs {
		all[role] = ScopeOf(spec, state.Slot{Role: role, Index: 1})
	}
	return all
}

// Covers reports whether the restart of the incident runs the slot again, unless it has succeeded.
func Covers(incident *v1alpha1.Incident, slot state.Slot) bool {
	switch incident.Scope {
	case v1alpha1.ScopeJob:
		return true
	case v1alpha1.ScopeRole:
		return incident.Role == slot.Role
	default:
		return SlotOf(&incident.Failure) == slot
	}
}
