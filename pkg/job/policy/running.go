package policy

import (
	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// blocksRunning returns the lowest-ranked replica that the job cannot run without; nil if the job runs. Every replica must run or
// have succeeded. An elastic job needs minReplicas workers, and the rendezvous host among them. Replicas that the training does
// not need do not count. A suspended collective runs none: when it resumes, a rank that has succeeded runs again.
func blocksRunning(s *state.Snapshot) *state.Replica {
	return firstRequiredWithout(s, func(r *state.Replica) bool {
		return isUp(r) && (!s.IsSuspended() || !state.IsMember(&s.Job.Spec, r.Slot.Role))
	})
}

// notRunning returns the lowest-ranked replica that does not run, even if the job can do without it; nil if all run.
func notRunning(s *state.Snapshot) *state.Replica {
	return s.First(func(r *state.Replica) bool { return !isUp(r) })
}

// firstRequiredWithout returns the lowest-ranked required replica for which has is false; nil if there is none. It skips as many
// workers as an elastic job can do without.
func firstRequiredWithout(s *state.Snapshot, has func(*state.Replica) bool) *state.Replica {
	canMiss := 0
	if elastic := s.Job.Spec.Elastic; elastic != nil {
		canMiss = int(s.Job.Spec.Replicas(v1alpha1.Worker) - elastic.MinReplicas)
	}
	for r := range s.Replicas() {
		switch {
		case has(r), !state.IsNeeded(r.Slot.Role):
		case r.Slot.Role == v1alpha1.Worker && canMiss > 0 && !isRendezvousHost(&s.Job.Spec, r.Slot):
			canMiss--
		default:
			return r
		}
	}
	return nil
}

// isRendezvousHost reports whether the ranks of an elastic collective cannot meet without the slot.
func isRendezvousHost(spec *v1alpha1.TrainingJobSpec, slot state.Slot) bool {
	return spec.Elastic != nil && state.IsCollective(spec) && state.HostsRendezvous(spec, slot)
}

// isUp reports whether the replica runs or has succeeded.
func isUp(r *state.Replica) bool {
	return r.State == state.Running || r.State == state.Succeeded
}
