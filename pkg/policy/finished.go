package policy

import (
	"time"

	"github.com/trainingjob/operator/pkg/state"
)

// finished rules because a verdict is final, whatever its pods do afterwards.
func finished(s *state.Snapshot) (*Verdict, time.Time) {
	if !s.IsFinished() {
		return nil, time.Time{}
	}
	ttl, done := s.Job.Spec.RunPolicy.TTLSecondsAfterFinished, s.Job.Status.CompletionTime
	if ttl == nil || done == nil {
		return &Verdict{Ruling: Final}, time.Time{}
	}
	expiry := done.Add(time.Duration(*ttl) * time.Second)
	if s.Now.Before(expiry) {
		return &Verdict{Ruling: Final}, expiry
	}
	return &Verdict{Ruling: Final, Expired: true}, time.Time{}
}
