package state

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// IsCollective reports whether the job's ranks run in lock-step, so that none can continue without another: by its framework, or because
// each role of its ranks restarts the whole job.
func IsCollective(spec *v1alpha1.TrainingJobSpec) bool {
	lockStep := TraitsOf(spec.Framework).LockStep
	return lockStep == Always || lockStep == WithoutServers && spec.Replicas(v1alpha1.PS) == 0 || ranksRestartJob(spec)
}

// ranksRestartJob reports whether the job has workers, and the restartScope of them and of its leader is Job. A launcher's is by default.
func ranksRestartJob(spec *v1alpha1.TrainingJobSpec) bool {
	for role := range spec.ReplicaSpecs {
		scope := spec.ReplicaSpecs[role].RestartScope
		isJob := scope == v1alpha1.ScopeJob || scope == "" && role == v1alpha1.Launcher
		if IsRank(role) && spec.Replicas(role) > 0 && !isJob {
			return false
		}
	}
	return spec.Replicas(v1alpha1.Worker) > 0
}

// IsMember reports whether the role's replicas are ranks of a collective: the others cannot meet without one of them.
func IsMember(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	return IsRank(role) && IsCollective(spec)
}

// IsRank reports whether the role's replicas are ranks of the job's collective: its leader and its workers.
func IsRank(role v1alpha1.Role) bool { return role.IsLeader() || role == v1alpha1.Worker }

// IsNeeded reports whether the training needs the role's replicas: ranks and parameter servers. An evaluator looks at what the training leaves behind, and
// what a Custom job's own roles do is not known: the job runs, and its gang is placed, without them.
func IsNeeded(role v1alpha1.Role) bool { return IsRank(role) || role == v1alpha1.PS }

// IsAwaited reports whether the success of the slot counts for the job's success.
func IsAwaited(spec *v1alpha1.TrainingJobSpec, slot Slot) bool {
	switch spec.SuccessPolicy {
	case v1alpha1.SuccessAllWorkers, v1alpha1.SuccessAnyWorker:
		return IsRank(slot.Role)
	default:
		return slot == Leader(spec)
	}
}

// Leader returns the slot that leads the job: its chief, master or launcher, else worker 0.
func Leader(spec *v1alpha1.TrainingJobSpec) Slot {
	for role := range spec.ReplicaSpecs {
		if role.IsLeader() && spec.Replicas(role) > 0 {
			return Slot{role, 0}
		}
	}
	return Slot{v1alpha1.Worker, 0}
}

// Rank returns the slot's rank within the job. Ranks follow the roles in the order of spec.Roles, so that a collective's ranks are 0 to
// world size - 1: leader, then workers. The workers of an elastic job take maxReplicas ranks, so that scaling changes no other rank.
func Rank(spec *v1alpha1.TrainingJobSpec, slot Slot) int {
	rank := 0
	for _, role := range spec.Roles() {
		if role == slot.Role {
			break
		}
		if role == v1alpha1.Worker && spec.Elastic != nil {
			rank += int(spec.Elastic.MaxReplicas)
			continue
		}
		rank += int(spec.Replicas(role))
	}
	return rank + slot.Index
}

// WorldSize returns the number of ranks in the job's collective: its leader and its workers.
func WorldSize(spec *v1alpha1.TrainingJobSpec) int {
	size := 0
	for role := range spec.ReplicaSpecs {
		if IsRank(role) {
			size += int(spec.Replicas(role))
		}
	}
	return size
}

// Total returns the number of replicas of all roles.
func Total(spec *v1alpha1.TrainingJobSpec) int {
	total := 0
	for role := range spec.ReplicaSpecs {
		total += int(spec.Replicas(role))
	}
	return total
}

// HostsRendezvous reports whether the replica holds the store at which the workers of an elastic job meet.
func HostsRendezvous(spec *v1alpha1.TrainingJobSpec, slot Slot) bool {
	outside := spec.Elastic.Rendezvous != nil && spec.Elastic.Rendezvous.Endpoint != ""
	return !outside && Leader(spec) == slot
}

// TopologyOf returns the topology that the job wants; nil for none.
func TopologyOf(spec *v1alpha1.TrainingJobSpec) *v1alpha1.Topology {
	return ptr.Deref(spec.Scheduling, v1alpha1.Scheduling{}).Topology
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
		isNear := func(role v1alpha1.Role) bool { return role != v1alpha1.Evaluator && role != v1alpha1.Launcher }
		return isNear(role) || !slices.ContainsFunc(spec.Roles(), func(r v1alpha1.Role) bool { return isNear(r) && spec.Replicas(r) > 0 })
	}
}
