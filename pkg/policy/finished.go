package policy

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// finished rules because a result is final, whatever its pods do afterwards.
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

// finishesUntil returns until when replicas that still run may end by themselves; zero if none does, or the job has not succeeded.
func finishesUntil(s *state.Snapshot) time.Time {
	if !s.Is(v1alpha1.ConditionSucceeded) || s.Job.Status.CompletionTime == nil {
		return time.Time{}
	}
	grace := time.Duration(ptr.Deref(s.Job.Spec.RunPolicy.FinishGraceSeconds, v1alpha1.DefaultFinishGraceSeconds)) * time.Second
	for r := range s.Replicas() {
		if r.State == state.Running && !r.Pod.Ended && endsByItself(s, r.Slot.Role) {
			return s.Job.Status.CompletionTime.Add(grace)
		}
	}
	return time.Time{}
}

// endsByItself reports whether a role's replicas may end by themselves after the job's success: ranks that write what they hold, an evaluator that looks
// at the last checkpoint, a Custom job's own roles. Parameter servers and the operator's sshd never do. Workers of TensorFlow with parameter servers may
// only serve, or train in loops of their own, and nothing shows which.
func endsByItself(s *state.Snapshot, role v1alpha1.Role) bool {
	return role != v1alpha1.PS && !state.RunsSSHD(&s.Job.Spec, role)
}
