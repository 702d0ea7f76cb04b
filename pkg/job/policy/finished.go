package policy

import (
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// finished rules because a result is final. The pods cannot change it.
func finished(s *state.Snapshot) (*Ruling, time.Time) {
	if !s.IsFinished() {
		return nil, time.Time{}
	}
	if until := finishesUntil(s); s.Now.Before(until) {
		return &Ruling{Kind: Final, Finishing: true}, until
	}
	ttl, done := s.Job.Spec.RunPolicy.TTLSecondsAfterFinished, s.Job.Status.CompletionTime
	if ttl == nil || done == nil {
		return &Ruling{Kind: Final}, time.Time{}
	}
	expiry := done.Add(time.Duration(*ttl) * time.Second)
	if s.Now.Before(expiry) {
		return &Ruling{Kind: Final}, expiry
	}
	return &Ruling{Kind: Final, Expired: true}, time.Time{}
}

// finishesUntil returns until when running replicas may end by themselves. It returns zero if none runs or the job has not
// succeeded. Ranks may still write data, an evaluator may read the last checkpoint, and so may roles of a Custom job. Side-cars may still
// send metrics. Parameter servers and the operator's sshd never end. Workers of TensorFlow with parameter servers may only serve, or train in their own
// loops. Nothing shows which, so they count too.
func finishesUntil(s *state.Snapshot) time.Time {
	if !s.Is(v1alpha1.ConditionSucceeded) || s.Job.Status.CompletionTime == nil {
		return time.Time{}
	}
	endsByItself := func(r *state.Replica) bool {
		isRank := r.State == state.Running && !r.Pod.Ended && r.Slot.Role != v1alpha1.PS && !state.RunsSSHD(&s.Job.Spec, r.Slot.Role)
		return isRank || r.Pod != nil && r.Pod.RunsSideCars()
	}
	if !s.Any(endsByItself) {
		return time.Time{}
	}
	return s.Job.Status.CompletionTime.Add(s.Job.Spec.RunPolicy.FinishGrace())
}
