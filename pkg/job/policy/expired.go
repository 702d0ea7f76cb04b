package policy

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// expired rules because a job past its active deadline fails in any state.
func expired(s *state.Snapshot) (*Ruling, time.Time) {
	limit := s.Job.Spec.RunPolicy.ActiveDeadlineSeconds
	if limit == nil || s.Job.Status.StartTime == nil {
		return nil, time.Time{}
	}
	deadline := s.Job.Status.StartTime.Add(state.SuspendedFor(&s.Job.Status, s.Now) + time.Duration(*limit)*time.Second)
	if s.Now.Before(deadline) {
		return nil, deadline
	}
	return &Ruling{Kind: Fail, Reason: v1alpha1.ReasonDeadlineExceeded,
		Message: fmt.Sprintf("The job did not finish within activeDeadlineSeconds (%d) of its start.", *limit)}, time.Time{}
}
