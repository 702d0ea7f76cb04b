package policy

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// succeeded rules because the leader has succeeded, or the leader and all workers, or one of these, as the success policy requires.
func succeeded(s *state.Snapshot) (*Ruling, time.Time) {
	done, open := (*state.Replica)(nil), false
	for r := range s.Replicas() {
		switch {
		case !state.IsAwaited(&s.Job.Spec, r.Slot), r.State == state.Parked:
		case r.State != state.Succeeded:
			open = true
		case done == nil:
			done = r
		}
	}
	policy := s.Job.Spec.SuccessPolicy
	if done == nil || open && policy != v1alpha1.SuccessAnyWorker {
		return nil, time.Time{}
	}
	switch policy {
	case v1alpha1.SuccessAllWorkers:
		return &Ruling{Kind: Succeed, Reason: v1alpha1.ReasonAllWorkersSucceeded,
			Message: "The leader and all workers exited with code 0."}, time.Time{}
	case v1alpha1.SuccessAnyWorker:
		return &Ruling{Kind: Succeed, Reason: v1alpha1.ReasonAnyWorkerSucceeded,
			Message: fmt.Sprintf("%s exited with code 0.", done.Slot)}, time.Time{}
	default:
		return &Ruling{Kind: Succeed, Reason: v1alpha1.ReasonLeaderSucceeded,
			Message: fmt.Sprintf("%s leads the job and exited with code 0.", done.Slot)}, time.Time{}
	}
}
