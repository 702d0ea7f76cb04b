package policy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// restartMessage describes the restart: what broke, who follows, what it costs.
func restartMessage(s *state.Snapshot, restart *failure.Restart) string {
	charge, follow := "not charged", ""
	if restart.Charged {
		charge = fmt.Sprintf("restart %d of %d", restart.Number, budget.Limit(&s.Job.Spec, budget.Of(&s.Job.Spec, restart)))
	}
	if n := restart.Followers; n > 0 {
		follow = fmt.Sprintf(", %d more follow%s", n, map[bool]string{true: "s"}[n == 1])
	}
	text := failure.Describe(&restart.Failure)
	switch restart.Scope {
	case v1alpha1.ScopeJob:
		text += fmt.Sprintf(": the whole job restarts as attempt %d%s, %s.", s.Job.Status.Attempt+1, follow, charge)
	case v1alpha1.ScopeRole:
		text += fmt.Sprintf(": all replicas of role %s restart%s, %s.", restart.Role, follow, charge)
	default:
		what := "only this replica " + restartsHow(s, restart)
		if restart.Followers > 0 {
			what = fmt.Sprintf("this replica %s, and %d more with it", restartsHow(s, restart), restart.Followers)
		}
		text += fmt.Sprintf(": %s, %s.", what, charge)
	}
	return failure.WithMessage(&restart.Failure, text+beside(s, restart)+failure.Hint(s, &restart.Failure))
}

// joinMessage describes an end that is part of an incident of the last seconds.
func joinMessage(s *state.Snapshot, restart *failure.Restart) string {
	what := "this replica " + restartsHow(s, restart)
	if restart.Scope == v1alpha1.ScopeRole {
		what = fmt.Sprintf("all replicas of role %s restart", restart.Role)
	}
	return failure.WithMessage(&restart.Failure, fmt.Sprintf("%s within seconds of %s: %s as part of that incident, not charged again.",
		failure.Describe(&restart.Failure), failure.SlotOf(&restart.Joins.Failure), what))
}

// besideNamed is how many replicas a message names of those whose logs are kept as well.
const besideNamed = 4

// beside names the replicas that ended by themselves at about the same time. Their logs are kept as well.
func beside(s *state.Snapshot, restart *failure.Restart) string {
	if restart.Scope != v1alpha1.ScopeJob {
		return ""
	}
	var names []string
	for r := range s.Replicas() {
		if r.Pod != nil && failure.EndedBeside(&restart.Failure, r.Pod) {
			names = append(names, r.Slot.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := " Beside it ended " + strings.Join(names[:min(len(names), besideNamed)], ", ")
	if more := len(names) - besideNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if text += ": "; restart.Alike > 0 {
		text += "which was first does not show, and "
	}
	return text + "the logs of all are kept."
}

// restartReasons are the condition reasons of restarts by cause. Every other cause has ReasonReplicaFailed.
var restartReasons = map[v1alpha1.Cause]string{
	v1alpha1.CauseInfrastructure: v1alpha1.ReasonReplicaLost, v1alpha1.CausePreempted: v1alpha1.ReasonReplicaPreempted,
	v1alpha1.CauseOOM: v1alpha1.ReasonOutOfMemory, v1alpha1.CauseHang: v1alpha1.ReasonHang, v1alpha1.CauseStartup: v1alpha1.ReasonStartupFailed,
	v1alpha1.CauseCompleted: v1alpha1.ReasonReplicaCompleted, v1alpha1.CauseRequested: v1alpha1.ReasonRestartRequested,
}

// restartReason returns the condition reason of a restart because of the failure.
func restartReason(f *v1alpha1.Failure) string {
	if f.Reason == v1alpha1.ReasonStartupDeadline {
		return v1alpha1.ReasonStartupDeadline
	}
	return cmp.Or(restartReasons[f.Cause], v1alpha1.ReasonReplicaFailed)
}
