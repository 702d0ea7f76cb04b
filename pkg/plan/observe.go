package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// observe returns the replica statuses with the numbers of pods as they are now, and the counters as they were. The scope
// shown is that of replica 1, as replica 0 of elastic workers may have another: it can host their rendezvous.
func observe(s *state.Snapshot) map[v1alpha1.Role]v1alpha1.ReplicaStatus {
	statuses, spares := map[v1alpha1.Role]v1alpha1.ReplicaStatus{}, heldNodes(s)
	for role := range s.Memory {
		statuses[role] = v1alpha1.ReplicaStatus{
			Spares:       spares[role],
			Restarts:     s.Job.Status.ReplicaStatuses[role].Restarts,
			RestartScope: policy.ScopeOf(&s.Job.Spec, role, 1),
			Selector:     build.Selector(s.Job, role),
		}
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		status, known := statuses[p.Slot.Role]
		if !known {
			continue
		}
		if s.MayAct(p) {
			status.Active++
		}
		if p.Ready && p.Deleted.IsZero() && s.Present(p.Slot) == p && !s.IsLost(p) {
			status.Ready++
		}
		statuses[p.Slot.Role] = status
	}
	for _, slot := range s.Slots() {
		if p := s.Present(slot); p != nil && (policy.IsBroken(s, slot) || p.Phase == corev1.PodFailed) {
			status := statuses[slot.Role]
			status.Failed++
			statuses[slot.Role] = status
		}
	}
	return statuses
}
