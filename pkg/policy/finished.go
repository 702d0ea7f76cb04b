package policy

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
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
// succeeded. Ranks may still write data, an evaluator may read the last checkpoint, and so may roles of a Custom job. Parameter
// servers and the operator's sshd never end. Workers of TensorFlow with parameter servers may only serve, or train in their own
// loops. Nothing shows which, so they count too.
func finishesUntil(s *state.Snapshot) time.Time {
	if !s.Is(v1alpha1.ConditionSucceeded) || s.Job.Status.CompletionTime == nil {
		return time.Time{}
	}
	grace := time.Duration(ptr.Deref(s.Job.Spec.RunPolicy.FinishGraceSeconds, v1alpha1.DefaultFinishGraceSeconds)) * time.Second
	endsByItself := func(r *state.Replica) bool {
		return r.State == state.Running && !r.Pod.Ended && r.Slot.Role != v1alpha1.PS && !state.RunsSSHD(&s.Job.Spec, r.Slot.Role)
	}
	if !s.Any(endsByItself) {
		return time.Time{}
	}
	return s.Job.Status.CompletionTime.Add(grace)
}

// lacksWork reports whether the replica is a worker of an elastic collective that has not run; a quota may refuse its pod. Once minReplicas others
// have succeeded, there is no work left for it, and no peer.
func lacksWork(s *state.Snapshot, r *state.Replica) bool {
	isElastic := s.Job.Spec.Elastic != nil && r.Slot.Role == v1alpha1.Worker && state.IsMember(&s.Job.Spec, r.Slot.Role)
	return isElastic && (r.State == state.Missing || r.State == state.Pending || r.State == state.Starting)
}

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
