package policy

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Incident is a restart that begins now: the API's Incident and what only its beginning needs.
type Incident struct {
	v1alpha1.Incident
	// RuleMade is whether the failure is a loss only because a rule of recovery.rules says so.
	RuleMade bool
	// FailedBy is the index of the rule of recovery.rules that fails the job, or calls the failure fatal; nil if none does.
	FailedBy *int
	// InRow is the number of restarts in a row that this one makes, and NextStart the time before which the lives that it begins
	// may not begin.
	InRow     int32
	NextStart time.Time
	// Message is a sentence for the user.
	Message string
}

// newIncident returns the restart that a failure asks for, once the rules of recovery.rules were asked. p is the pod that broke;
// nil if it is gone, or none did.
func newIncident(s *state.Snapshot, f v1alpha1.Failure, scope v1alpha1.RestartScope, p *state.Pod) Incident {
	i := Incident{Incident: v1alpha1.Incident{Failure: f, Scope: scope, RestartTime: metav1.NewTime(s.Now.Truncate(time.Second))}}
	applyRule(s.Job, &i, p)
	i.Charged = isCharged(&i.Failure)
	return i
}

// slotOf returns the slot of the replica that broke.
func slotOf(f *v1alpha1.Failure) state.Slot { return state.Slot{Role: f.Role, Index: int(f.Index)} }

// failureAt returns a failure of a replica that shows now and is not its program's.
func failureAt(s *state.Snapshot, r *state.Replica, cause v1alpha1.Cause, reason, message string) v1alpha1.Failure {
	f := v1alpha1.Failure{
		Role: r.Slot.Role, Index: int32(r.Slot.Index), Attempt: s.Job.Status.Attempt,
		Cause: cause, Reason: reason, Message: clip(message), Time: metav1.NewTime(s.Now),
	}
	if r.Pod != nil {
		f.Pod, f.Node = r.Pod.Name, r.Pod.Node
	}
	return f
}

// isFatal reports whether no restart can mend the failure.
func isFatal(i Incident) bool { return i.Cause == v1alpha1.CauseFatal }

// restartReason returns the condition reason of a restart because of the failure.
func restartReason(f *v1alpha1.Failure) string {
	if f.Reason == v1alpha1.ReasonStartupDeadline {
		return v1alpha1.ReasonStartupDeadline
	}
	switch f.Cause {
	case v1alpha1.CauseInfrastructure:
		return v1alpha1.ReasonReplicaLost
	case v1alpha1.CausePreempted:
		return v1alpha1.ReasonReplicaPreempted
	case v1alpha1.CauseOOM:
		return v1alpha1.ReasonOutOfMemory
	case v1alpha1.CauseHang:
		return v1alpha1.ReasonHang
	case v1alpha1.CauseRequested:
		return v1alpha1.ReasonRestartRequested
	case v1alpha1.CauseStartup:
		return v1alpha1.ReasonStartupFailed
	default:
		return v1alpha1.ReasonReplicaFailed
	}
}

// followers returns how many other replicas are restarted with the one that broke.
func followers(s *state.Snapshot, i *Incident) int32 {
	if i.Scope == v1alpha1.ScopeReplica {
		return 0
	}
	var n int32
	for r := range s.Replicas() {
		if r.Slot != slotOf(&i.Failure) && isRestartedBy(s, i, r) {
			n++
		}
	}
	return n
}

// isRestartedBy reports whether the incident gives the replica another life. What has succeeded runs again only with the whole of
// a collective, whose ranks cannot meet without it.
func isRestartedBy(s *state.Snapshot, i *Incident, r *state.Replica) bool {
	switch i.Scope {
	case v1alpha1.ScopeJob:
		return r.Condition != state.Parked && (r.Condition != state.Succeeded || state.IsCollective(&s.Job.Spec))
	case v1alpha1.ScopeRole:
		return r.NeedsPod() && r.Slot.Role == i.Role
	default:
		return r.Slot == slotOf(&i.Failure)
	}
}

// restartMessage tells the incident: what broke, who follows, what it costs.
func restartMessage(s *state.Snapshot, i *Incident, count, limit int32) string {
	charge, follow := "not charged", ""
	if i.Charged {
		charge = fmt.Sprintf("restart %d of %d", count, limit)
	}
	if i.Followers > 0 {
		follow = fmt.Sprintf(", %d more follow", i.Followers)
	}
	text := describe(&i.Failure)
	switch i.Scope {
	case v1alpha1.ScopeJob:
		text += fmt.Sprintf(": the whole job restarts as attempt %d%s, %s.", s.Job.Status.Attempt+1, follow, charge)
	case v1alpha1.ScopeRole:
		text += fmt.Sprintf(": all replicas of role %s are replaced%s, %s.", i.Role, follow, charge)
	default:
		text += fmt.Sprintf(": only this replica is replaced, %s.", charge)
	}
	return withItsWords(&i.Failure, text)
}
