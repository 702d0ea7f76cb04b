package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// observe returns the replica statuses with the present numbers of pods, and unchanged counters.
func observe(s *state.Snapshot, v *policy.Verdict) map[v1alpha1.Role]v1alpha1.ReplicaStatus {
	counted, spares := map[v1alpha1.Role]*v1alpha1.ReplicaStatus{}, heldNodes(s)
	for role := range s.Memory {
		counted[role] = &v1alpha1.ReplicaStatus{
			Spares:       spares[role],
			Restarts:     s.Job.Status.ReplicaStatuses[role].Restarts,
			RestartScope: v.Scopes[role],
			Selector:     build.Selector(s.Job, role),
		}
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		if status := counted[p.Slot.Role]; status != nil && s.MayAct(p) {
			status.Active++
		}
	}
	for r := range s.Replicas() {
		status := counted[r.Slot.Role]
		if r.Pod != nil && r.Pod.Ready && r.Pod.Deleted.IsZero() && r.State != state.Lost {
			status.Ready++
		}
		if r.Pod != nil && (r.IsBroken() || r.Pod.Phase == corev1.PodFailed) {
			status.Failed++
		}
	}
	statuses := map[v1alpha1.Role]v1alpha1.ReplicaStatus{}
	for role, status := range counted {
		statuses[role] = *status
	}
	return statuses
}
