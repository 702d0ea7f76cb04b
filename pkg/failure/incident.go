package failure

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Incident is a restart that begins now: the API's Incident, and the values that are needed only now.
type Incident struct {
	v1alpha1.Incident
	// RuleMade is whether only a rule of recovery.rules makes the failure a loss.
	RuleMade bool
	// FailedBy is the index of the rule of recovery.rules that fails the job; nil if none does.
	FailedBy *int
	// Likewise are the other replicas that ended in the same way, at about the same time.
	Likewise []state.Slot
	// InRow is the number of restarts in a row, this one included. NextStart is the time from which its lives may begin.
	InRow     int32
	NextStart time.Time
	// Message is a sentence for the user.
	Message string
}

// NewIncident returns the restart for a failure, after recovery.rules. p is the pod that broke; nil if it is gone, or if no pod broke.
func NewIncident(s *state.Snapshot, f v1alpha1.Failure, scope v1alpha1.RestartScope, p *state.Pod) Incident {
	incident := Incident{Incident: v1alpha1.Incident{Failure: f, Scope: scope, RestartTime: metav1.NewTime(s.Now.Truncate(time.Second))}}
	if IsFailure(f.Cause) {
		applyRule(s.Job, &incident, p)
	}
	incident.Charged = isCharged(&incident.Failure)
	return incident
}

// SlotOf returns the slot of the replica that broke.
func SlotOf(f *v1alpha1.Failure) state.Slot { return state.Slot{Role: f.Role, Index: int(f.Index)} }

// At returns a failure of the replica that shows now and is no exit of its program.
func At(s *state.Snapshot, r *state.Replica, cause v1alpha1.Cause, reason, message string) v1alpha1.Failure {
	f := v1alpha1.Failure{
		Role: r.Slot.Role, Index: int32(r.Slot.Index), Attempt: s.Job.Status.Attempt,
		Cause: cause, Reason: reason, Message: clip(message), Time: metav1.NewTime(s.Now),
	}
	if r.Pod != nil {
		f.Pod, f.Node = r.Pod.Name, r.Pod.Node
	}
	return f
}

// IsFatal reports whether a restart cannot mend the failure.
func IsFatal(incident Incident) bool { return incident.Cause == v1alpha1.CauseFatal }

// isCharged reports whether the restart after the failure is charged to a budget of the job. A lost pod is not the job's fault, and an
// evaluator must not use up the budget of the training.
func isCharged(f *v1alpha1.Failure) bool {
	return IsFailure(f.Cause) && !IsLoss(f.Cause) && f.Role != v1alpha1.Evaluator
}
