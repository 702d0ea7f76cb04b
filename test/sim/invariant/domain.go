package invariant

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
)

// What docs/scheduling.md promises of a Required topology, and docs/recovery.md of the port at which ranks meet.

// requiresDomain reports whether the job's pods must be in one domain.
func requiresDomain(spec *v1alpha1.TrainingJobSpec) bool {
	return spec.Scheduling != nil && spec.Scheduling.Topology != nil && spec.Scheduling.Topology.Mode == "Required"
}

// isInDomain reports whether the role's pods must be near each other: those that the job names, else all but evaluators and launchers.
func isInDomain(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	if named := spec.Scheduling.Topology.Roles; len(named) > 0 {
		return slices.Contains(named, role)
	}
	return role != v1alpha1.Evaluator && role != v1alpha1.Launcher
}

// isOfGang reports whether the role's pods are of the group: those that the training needs and, with a Required topology, that must be in the domain.
func isOfGang(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	isNeeded := role.IsLeader() || role == v1alpha1.Worker || role == v1alpha1.PS
	return isNeeded && (!requiresDomain(spec) || isInDomain(spec, role))
}

// checkStranded asks whether a job that is created anew for want of room in a domain has a pod without a node, does not run, and pays nothing.
func (c *Checker) checkStranded(before *v1alpha1.TrainingJob, i *v1alpha1.Incident) {
	slot := state.Slot{Role: i.Role, Index: int(i.Index)}
	waits := slices.ContainsFunc(c.writer.Process.Cache.List(server.Pods), func(o client.Object) bool {
		pod := o.(*corev1.Pod)
		theirs, _, _, named := livesIn(before.Name, pod)
		return named && theirs == slot && pod.Spec.NodeName == ""
	})
	switch {
	case !requiresDomain(&before.Spec) || !isInDomain(&before.Spec, i.Role) || is(before, v1alpha1.ConditionRunning):
		c.violate("17 gang: %v counts as lacking room in its domain; the job runs or needs none", slot)
	case !waits || i.Charged || i.Scope != v1alpha1.ScopeJob:
		c.violate("8 exactly once: %v lacks room in its domain, is recorded as %+v, and waits: %t", slot, i, waits)
	}
}

// movesPort reports whether each attempt in place has a port of its own: with PyTorch, JAX and XGBoost, unless the leader's template declares
// the port or has a probe look at it.
func movesPort(spec *v1alpha1.TrainingJobSpec) bool {
	if !meetsAtPort(spec) {
		return false
	}
	for _, container := range spec.ReplicaSpecs[leader(spec).Role].Template.Spec.Containers {
		if len(container.Ports) > 0 || container.LivenessProbe != nil { // the simulation's jobs have none but those
			return false
		}
	}
	return true
}

// meetsAtPort reports whether the ranks meet at a port of their leader that the operator chooses.
func meetsAtPort(spec *v1alpha1.TrainingJobSpec) bool {
	return slices.Contains([]v1alpha1.Framework{v1alpha1.PyTorch, v1alpha1.JAX, v1alpha1.XGBoost}, spec.Framework)
}
