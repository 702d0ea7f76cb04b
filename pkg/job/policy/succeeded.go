package policy

import (
	"cmp"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// succeeded rules because the leader has succeeded, or the leader and all workers, or one of these, as the success policy requires.
func succeeded(s *state.Snapshot) (*Ruling, time.Time) {
	var done *state.Replica
	open, waits, workers := false, false, 0
	for r := range s.Replicas() {
		switch {
		case !state.IsAwaited(&s.Job.Spec, r.Slot):
		case lacksWork(s, r):
			waits = true
		case r.State != state.Succeeded:
			open = true
		default:
			done = cmp.Or(done, r)
			workers += int(one(r.Slot.Role == v1alpha1.Worker))
		}
	}
	open = open || waits && workers < int(s.Job.Spec.Elastic.MinReplicas)
	policy := s.Job.Spec.SuccessPolicy
	if done == nil || open && policy != v1alpha1.SuccessAnyWorker {
		return nil, time.Time{}
	}
	ruling := &Ruling{Kind: Succeed, Reason: v1alpha1.ReasonLeaderSucceeded, Message: done.Slot.String() + " leads the job and exited with code 0."}
	switch policy {
	case v1alpha1.SuccessAllWorkers:
		ruling.Reason, ruling.Message = v1alpha1.ReasonAllWorkersSucceeded, "The leader and all workers exited with code 0."
	case v1alpha1.SuccessAnyWorker:
		ruling.Reason, ruling.Message = v1alpha1.ReasonAnyWorkerSucceeded, done.Slot.String()+" exited with code 0."
	}
	return ruling, time.Time{}
}

// lacksWork reports whether the replica is a worker of an elastic collective that has not run; a quota may refuse its pod. Once minReplicas others
// have succeeded, there is no work left for it, and no peer.
func lacksWork(s *state.Snapshot, r *state.Replica) bool {
	isElastic := s.Job.Spec.Elastic != nil && r.Slot.Role == v1alpha1.Worker && state.IsMember(&s.Job.Spec, r.Slot.Role)
	return isElastic && (r.State == state.Missing || r.State == state.Pending || r.State == state.Starting)
}
