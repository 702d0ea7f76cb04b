package policy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// maxMessage is the longest message that a Failure holds, in bytes.
const maxMessage = 1024

// IsBroken reports whether the slot's present life has ended without success. A pod that is deleted before it ran has lost
// nothing: it is made again in the same life.
func IsBroken(s *state.Snapshot, slot state.Slot) bool {
	if HasSucceeded(s, slot) || s.IsDone(slot) {
		return false
	}
	p := s.Present(slot)
	if p == nil {
		return s.HasVanished(slot)
	}
	return !p.CanRun() || p.Exit != nil || (!p.Deleted.IsZero() && p.HasStarted())
}

// failures returns what broke in the job's present lives, earliest first.
func failures(s *state.Snapshot) []v1alpha1.Failure {
	var found []v1alpha1.Failure
	for _, slot := range s.Slots() {
		if IsBroken(s, slot) {
			found = append(found, failureOf(s, slot))
		}
	}
	// stable, so that equal failures stay in the order of their ranks
	slices.SortStableFunc(found, func(a, b v1alpha1.Failure) int {
		return cmp.Or(
			cmp.Compare(a.Time.Unix(), b.Time.Unix()),
			cmp.Compare(slices.Index(explains, a.Cause), slices.Index(explains, b.Cause)))
	})
	return found
}

// explains lists the causes so that of two failures in one second the earlier cause explains the later one.
var explains = []v1alpha1.Cause{v1alpha1.CauseInfrastructure, v1alpha1.CauseRetryable, v1alpha1.CauseFatal}

func failureOf(s *state.Snapshot, slot state.Slot) v1alpha1.Failure {
	f := v1alpha1.Failure{Role: slot.Role, Index: int32(slot.Index), Attempt: s.Job.Status.Attempt}
	p := s.Present(slot)
	if p == nil {
		f.Cause, f.Reason = v1alpha1.CauseInfrastructure, "Vanished"
		f.Message, f.Time = "its pod is gone without a trace", metav1.NewTime(s.Now)
		f.Pod = state.PodName(s.Job.Name, slot, s.Life(slot))
		return f
	}
	f.Pod, f.Node = p.Name, p.Node
	f.Cause = causeOf(p, s.Job.Spec.ReplicaSpecs[slot.Role].RestartPolicy)
	f.Time = metav1.NewTime(brokeAt(p, s.Now))
	switch {
	case f.Cause == v1alpha1.CauseInfrastructure:
		f.Reason, f.Message = takenAwayBecause(p), cmp.Or(p.Disruption.Message, p.Rejected.Message)
	case p.Exit != nil:
		f.Reason, f.Message = p.Exit.Reason, p.Exit.Message
	default:
		f.Reason, f.Message = cmp.Or(p.Rejected.Reason, "Completed"), p.Rejected.Message
	}
	if p.Exit != nil {
		f.ExitCode = &p.Exit.Code
		if isSignal(p.Exit.Code) {
			signal := p.Exit.Code - 128
			f.Signal = &signal
		}
	}
	f.Message = clip(f.Message)
	return f
}

// brokeAt returns the earliest time at which the pod is known to have broken.
func brokeAt(p *state.Pod, now time.Time) time.Time {
	at := Earliest(p.Deleted, p.Disruption.Time)
	if p.Exit != nil {
		at = Earliest(at, p.Exit.Time)
	}
	if at = Earliest(at, p.Finished); at.IsZero() {
		return now
	}
	return at
}

// clip returns the end of a message, which is where programs say what went wrong, in at most maxMessage bytes.
func clip(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	cut := len(message) - maxMessage
	for cut < len(message) && message[cut]&0xC0 == 0x80 { // not within a UTF-8 character
		cut++
	}
	return message[cut:]
}

// Describe returns the failure as a clause: "worker-1 on gpu-3 exited with code 137 (OOMKilled: ...)".
func Describe(f *v1alpha1.Failure) string {
	text := state.Slot{Role: f.Role, Index: int(f.Index)}.String()
	if f.Node != "" {
		text += " on " + f.Node
	}
	switch {
	case f.Cause == v1alpha1.CauseStartup:
		return text + " was " + f.Message
	case f.Cause == v1alpha1.CauseInfrastructure:
		text += " was lost"
	case f.ExitCode != nil:
		text += fmt.Sprintf(" exited with code %d", *f.ExitCode)
	default:
		text += " ended"
	}
	switch {
	case f.Reason != "" && f.Message != "":
		return fmt.Sprintf("%s (%s: %s)", text, f.Reason, f.Message)
	case f.Reason != "":
		return fmt.Sprintf("%s (%s)", text, f.Reason)
	default:
		return text
	}
}
