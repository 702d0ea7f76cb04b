package policy

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/stacks"
	"github.com/trainingjob/operator/pkg/job/state"
)

// stalled rules because a running job that makes no progress hangs, and its user wants a restart then.
func stalled(s *state.Snapshot) (*Ruling, time.Time) {
	deadline := s.StallDeadline()
	if deadline.IsZero() || s.Now.Before(deadline) {
		return nil, deadline
	}
	if !s.Hangs() {
		return nil, time.Time{}
	}
	switch until := s.Seen.Stacks.Until; {
	case until.IsZero(): // Snapshot.Reads wants them
		return nil, s.Now.Add(state.StacksWithin)
	case s.Now.Before(until):
		return nil, until
	}
	f := hang(s)
	f.Time = metav1.NewTime(deadline.Add(-state.StallAfter(s.Job.Spec.Progress)))
	ruling := restartForTime(s, f)
	if held, until := waitForLoss(s, ruling); held != nil {
		return held, until
	}
	return ruling, time.Time{}
}

// hang returns the failure of a job that hangs: of the rank for which the others wait, with its node, if stacks show one, else of the rank that
// does not report, and of no node.
func hang(s *state.Snapshot) v1alpha1.Failure {
	message := stallMessage(s)
	if where := stacks.Sentence(&s.Seen.Stacks); where != "" {
		message += ". " + where
	}
	suspect, replica := stacks.Suspect(s.Seen.Stacks.List), s.Replica(state.Leader(&s.Job.Spec))
	isShown := suspect != nil && s.InRange(suspect.Slot)
	if isShown {
		replica = s.Replica(suspect.Slot)
	}
	f := failure.At(s, replica, v1alpha1.CauseHang, v1alpha1.ReasonProgressStalled, message)
	if !isShown {
		f.Node = ""
	}
	return f
}

// noProgress returns for how long the job has made no progress, if that is too long; else it is empty.
func noProgress(s *state.Snapshot) string {
	if !s.HasStalled() {
		return ""
	}
	return stallMessage(s)
}

// whyUnread returns why the operator has not been able to read the page of the training for too long; else it is empty. The training may
// well make progress, so it does not hang.
func whyUnread(s *state.Snapshot) string {
	if s.Job.Spec.Progress != nil && !state.ReportsByPage(&s.Job.Spec) {
		return "spec.progress has no port, so no hang is detected: write progress.port"
	}
	if deadline := s.StallDeadline(); deadline.IsZero() || s.Now.Before(deadline) || s.HasStalled() {
		return ""
	}
	return s.Progress.Unread
}

// stallMessage returns how the reporting replica hangs, with its last step in this attempt.
func stallMessage(s *state.Snapshot) string {
	step, silent := "no step was reported", ""
	switch {
	case s.Progress.Step > 0:
		step = fmt.Sprintf("the last step was %d", s.Progress.Step)
	case s.HighestStep() > 0:
		step = "no step of this attempt was read"
	}
	if s.Progress.IsSilent {
		silent = fmt.Sprintf(", and its page did not answer within %v", state.ReadWithin)
	}
	return fmt.Sprintf("%s has not reported for %v%s; %s", state.Leader(&s.Job.Spec), state.StallAfter(s.Job.Spec.Progress), silent, step)
}
