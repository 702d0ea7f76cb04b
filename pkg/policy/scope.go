package policy

import (
	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// ScopeOf returns what is restarted when a replica of the role breaks: what the user wrote, else the framework's default.
//
//	                     Worker   Chief/Master/Launcher   PS    Evaluator
//	TensorFlow with PS   Replica  Replica                 Job   Replica     the PS hold the variables
//	collective           Job      Job                     -     Replica     no rank can go on without the others
//	elastic PyTorch      Replica  Job                     -     Replica     the others meet again; rank 0 hosts the
//	                                                                        rendezvous, unless it has an endpoint of its own
//	Custom               Replica  Replica, Launcher: Job  Job   Replica
func ScopeOf(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role, index int) v1alpha1.RestartScope {
	if own := spec.ReplicaSpecs[role].RestartScope; own != "" {
		return own
	}
	switch {
	case role == v1alpha1.Evaluator:
		return v1alpha1.ScopeReplica
	case role == v1alpha1.PS, role == v1alpha1.Launcher:
		return v1alpha1.ScopeJob
	case !IsCollective(spec):
		return v1alpha1.ScopeReplica
	case spec.Elastic != nil && !hostsRendezvous(spec, role, index):
		return v1alpha1.ScopeReplica
	default:
		return v1alpha1.ScopeJob
	}
}

// IsCollective reports whether the job's ranks run in lock-step, so that none can go on when one is gone.
func IsCollective(spec *v1alpha1.TrainingJobSpec) bool {
	switch spec.Framework {
	case v1alpha1.Custom:
		return false
	case v1alpha1.TensorFlow:
		return spec.Replicas(v1alpha1.PS) == 0
	default:
		return true
	}
}

// hostsRendezvous reports whether the replica holds the store at which an elastic job's workers meet.
func hostsRendezvous(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role, index int) bool {
	outside := spec.Elastic.Rendezvous != nil && spec.Elastic.Rendezvous.Endpoint != ""
	return !outside && state.Leader(spec) == state.Slot{Role: role, Index: index}
}
