package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// maxMessage is the longest message that a status holds, in bytes.
const maxMessage = 1024

// phases lists the conditions that make a phase, the most telling first.
var phases = []struct {
	condition string
	phase     v1alpha1.Phase
}{
	{v1alpha1.ConditionSucceeded, v1alpha1.PhaseSucceeded},
	{v1alpha1.ConditionFailed, v1alpha1.PhaseFailed},
	{v1alpha1.ConditionQueued, v1alpha1.PhaseQueued},
	{v1alpha1.ConditionSuspended, v1alpha1.PhaseSuspended},
	{v1alpha1.ConditionRunning, v1alpha1.PhaseRunning},
	{v1alpha1.ConditionRestarting, v1alpha1.PhaseRestarting},
}

// phaseOf returns the phase that the conditions add up to.
func phaseOf(conditions []metav1.Condition) v1alpha1.Phase {
	for _, p := range phases {
		if meta.IsStatusConditionTrue(conditions, p.condition) {
			return p.phase
		}
	}
	if meta.FindStatusCondition(conditions, v1alpha1.ConditionScheduled) != nil {
		return v1alpha1.PhasePending
	}
	return v1alpha1.PhaseCreated
}

// why returns the reason and message that best explain the phase: of a job under way, what keeps it from going on comes first.
func why(status *v1alpha1.TrainingJobStatus) (reason, message string) {
	explanation := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRunning)
	for _, p := range phases {
		if p.phase == status.Phase {
			explanation = meta.FindStatusCondition(status.Conditions, p.condition)
		}
	}
	if !isAtRest(status.Phase) {
		if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionScheduled); c != nil && isWaiting(c.Reason) {
			explanation = c
		}
		if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
			explanation = c
		}
	}
	if explanation == nil {
		return "", ""
	}
	return explanation.Reason, clip(explanation.Message)
}

// isWaiting reports whether the pod waits for something that a person can fix.
func isWaiting(reason string) bool {
	return slices.Contains([]string{v1alpha1.ReasonUnschedulable, v1alpha1.ReasonGangWaiting, v1alpha1.ReasonGangUnavailable}, reason)
}

func isAtRest(phase v1alpha1.Phase) bool {
	return phase == v1alpha1.PhaseSucceeded || phase == v1alpha1.PhaseFailed || phase == v1alpha1.PhaseSuspended || phase == v1alpha1.PhaseQueued
}

// whyNotRunning returns why the replica, and so its attempt, does not run.
func whyNotRunning(s *state.Snapshot, r *state.Replica) (reason, message string) {
	p, slot := r.Pod, r.Slot
	switch next := s.Job.Status.NextStartTime; {
	case p != nil && p.Waiting.Reason != "" && !isOrdinary(p.Waiting.Reason):
		return p.Waiting.Reason, clip(slot.String() + ": " + p.Waiting.Reason + ": " + p.Waiting.Message)
	case p == nil && next != nil && s.Now.Before(next.Time):
		return v1alpha1.ReasonBackOff, "The next pods are created at " + next.UTC().Format("15:04:05") + " UTC."
	case p == nil && s.Now.Before(s.NextStart(slot)):
		return v1alpha1.ReasonBackOff, createdAgain(s, slot)
	case p == nil && (r.FormerCanAct || !s.AttemptMayBegin()):
		return v1alpha1.ReasonFormerPodsEnding, withWhoLingers(s, "Pods of an earlier life can still run; the next ones are created when they have ended.")
	default:
		return v1alpha1.ReasonReplicasStarting, withWhoLingers(s, "Waiting for all replicas to run.")
	}
}

// createdAgain returns when the slot's next life may begin, and the number of the restart in a row.
func createdAgain(s *state.Snapshot, slot state.Slot) string {
	return fmt.Sprintf("%s is created again at %s UTC (restart %d in a row).",
		slot, s.NextStart(slot).UTC().Format("15:04:05"), s.Memory[slot.Role].RestartsInRow[slot.Index])
}

// isOrdinary reports whether the reason is one that every starting pod goes through.
func isOrdinary(reason string) bool {
	return slices.Contains([]string{"ContainerCreating", "PodInitializing", "SchedulingGated"}, reason)
}

// clip returns the beginning of a message, in at most maxMessage bytes.
func clip(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage
	for cut > 0 && message[cut]&0xC0 == 0x80 { // not within a UTF-8 character
		cut--
	}
	return message[:cut]
}
