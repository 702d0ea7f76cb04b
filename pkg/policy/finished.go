package policy

import (
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// finished rules because a verdict is final, whatever its pods do afterwards.
func finished(s *state.Snapshot) (*Verdict, time.Time) {
	if !s.IsFinished() {
		return nil, time.Time{}
	}
	expiry := Expiry(s.Job)
	if !s.Now.Before(expiry) {
		expiry = time.Time{}
	}
	return &Verdict{Ruling: Final}, expiry
}

// Expiry returns when a finished job is to be deleted; zero for never.
func Expiry(job *v1alpha1.TrainingJob) time.Time {
	ttl, done := job.Spec.RunPolicy.TTLSecondsAfterFinished, job.Status.CompletionTime
	if ttl == nil || done == nil {
		return time.Time{}
	}
	return done.Add(time.Duration(*ttl) * time.Second)
}
