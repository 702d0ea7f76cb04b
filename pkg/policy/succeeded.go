package policy

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// succeeded rules because the leader has succeeded, or the leader and all workers.
func succeeded(s *state.Snapshot) (*Ruling, time.Time) {
	decided := false
	for r := range s.Replicas() {
		switch {
		case !state.IsAwaited(&s.Job.Spec, r.Slot), r.State == state.Parked:
		case r.State == state.Succeeded:
			decided = true
		default:
			return nil, time.Time{}
		}
	}
	if !decided {
		return nil, time.Time{}
	}
	if s.Job.Spec.SuccessPolicy == v1alpha1.SuccessAllWorkers {
		return &Ruling{Kind: Succeed, Reason: v1alpha1.ReasonAllWorkersSucceeded,
			Message: "The leader and all workers exited with code 0."}, time.Time{}
	}
	return &Ruling{Kind: Succeed, Reason: v1alpha1.ReasonLeaderSucceeded,
		Message: fmt.Sprintf("%s leads the job and exited with code 0.", state.Leader(&s.Job.Spec))}, time.Time{}
}
