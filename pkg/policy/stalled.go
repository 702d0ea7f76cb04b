package policy

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// stalled rules because a job that runs and makes no progress hangs, and its user wants it restarted then.
func stalled(s *state.Snapshot) (*Verdict, time.Time) {
	deadline := StallDeadline(s)
	if deadline.IsZero() || s.Now.Before(deadline) {
		return nil, deadline
	}
	if s.Job.Spec.Progress.Action != v1alpha1.StallRestart {
		return nil, time.Time{}
	}
	leader := state.Leader(&s.Job.Spec)
	failure := v1alpha1.Failure{
		Role: leader.Role, Index: int32(leader.Index), Attempt: s.Job.Status.Attempt, Cause: v1alpha1.CauseHang,
		Reason: v1alpha1.ReasonProgressStalled, Message: StallMessage(s), Time: metav1.NewTime(deadline.Add(-stallAfter(s))),
	}
	if p := s.Present(leader); p != nil {
		failure.Pod, failure.Node = p.Name, p.Node
	}
	return restartForTime(s, failure), time.Time{}
}

// StallDeadline returns when the job will have made no progress for too long, unless it renews its Lease; zero if it need not.
func StallDeadline(s *state.Snapshot) time.Time {
	since := undisturbedSince(s)
	if s.Job.Spec.Progress == nil || since.IsZero() {
		return time.Time{}
	}
	if s.Progress.Renewed.After(since) {
		since = s.Progress.Renewed
	}
	return since.Add(stallAfter(s))
}

// StallMessage says for how long the job has made no progress.
func StallMessage(s *state.Snapshot) string {
	step := "no step was reported"
	if highest := HighestStep(s); highest > 0 {
		step = fmt.Sprintf("the last step was %d", highest)
	}
	return fmt.Sprintf("the Lease %s was not renewed for %v; %s", state.LeaseName(s.Job.Name), stallAfter(s), step)
}

func stallAfter(s *state.Snapshot) time.Duration {
	seconds := s.Job.Spec.Progress.StallAfterSeconds
	if seconds == 0 {
		seconds = v1alpha1.DefaultStallAfterSeconds
	}
	return time.Duration(seconds) * time.Second
}

// HighestStep returns the highest step that the job ever reported.
func HighestStep(s *state.Snapshot) int64 { return max(recordedStep(s), s.Progress.Step) }

func recordedStep(s *state.Snapshot) int64 {
	if s.Job.Status.Progress == nil {
		return 0
	}
	return s.Job.Status.Progress.Step
}

// RestartsWithoutProgress returns the number of restarts since the last newer step.
func RestartsWithoutProgress(s *state.Snapshot) int32 {
	if s.Progress.Step > recordedStep(s) {
		return 0
	}
	return s.Job.Status.RestartsWithoutProgress
}

// CountsAsStuck reports whether a restart after the failure is one more without progress, unless a newer step comes. A
// preemption says nothing about the training, nor does an evaluator, nor a job that reports no steps.
func CountsAsStuck(s *state.Snapshot, f *v1alpha1.Failure) bool {
	return s.Job.Spec.Progress != nil && HighestStep(s) > 0 && f.Cause != v1alpha1.CausePreempted && f.Role != v1alpha1.Evaluator
}

// isStuck reports whether the job has been restarted too often without progress to be restarted after this failure too.
func isStuck(s *state.Snapshot, f *v1alpha1.Failure) bool {
	limit := noProgressLimit(s)
	return limit > 0 && CountsAsStuck(s, f) && recordedStep(s) > 0 && RestartsWithoutProgress(s) >= limit
}

func noProgressLimit(s *state.Snapshot) int32 {
	return ptr.Deref(s.Job.Spec.Recovery.NoProgressLimit, v1alpha1.DefaultNoProgressLimit)
}
