package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/budget"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// restart returns the ruling on failures that need a restart. A fatal failure, or one beyond its budget, fails the job.
func restart(s *state.Snapshot, incidents []failure.Incident) *Ruling {
	for n := range incidents {
		incidents[n].Followers = followers(s, &incidents[n])
	}
	for n := range incidents {
		incident := &incidents[n]
		if failure.IsFatal(*incident) {
			return failFatally(s, incident)
		}
		if isStuck(s, &incident.Incident) {
			return fail(&incident.Failure, v1alpha1.ReasonNoProgress, fmt.Sprintf("%s, and recovery.noProgressLimit (%d) restarts in a row have not brought the training beyond step %d.",
				failure.Describe(&incident.Failure), noProgressLimit(s), s.RecordedStep()))
		}
		incident.InRow, incident.NextStart = budget.Backoff(s, incident)
		if incident.Joins != nil {
			incident.Message = joinMessage(incident)
			continue
		}
		name := budget.Of(&s.Job.Spec, incident)
		number, limit := budget.Number(s, incident), budget.Limit(&s.Job.Spec, name)
		if number > limit {
			return fail(&incident.Failure, v1alpha1.ReasonMaxRestartsExceeded, fmt.Sprintf("%s and %s is used up.%s",
				failure.Describe(&incident.Failure), budget.Describe(name, limit), failure.Hint(&s.Job.Spec, &incident.Failure)))
		}
		incident.Followers += failure.Joined(incidents, &incident.Incident)
		incident.Message = restartMessage(s, incident, number, limit)
	}
	begun := slices.IndexFunc(incidents, func(incident failure.Incident) bool { return incident.Joins == nil })
	first := &incidents[max(begun, 0)]
	return &Ruling{
		Kind: Restart, Reason: restartReason(&first.Failure), Message: first.Message, Failure: &first.Failure, Restarts: incidents, Asked: keptRequest(s, incidents),
	}
}

// keptRequest returns the checkpoint request of the job if only replicas restart that the training does not need: its ranks go on saving.
func keptRequest(s *state.Snapshot, incidents []failure.Incident) *v1alpha1.CheckpointRequest {
	if slices.ContainsFunc(incidents, func(i failure.Incident) bool { return !failure.IsApart(&s.Job.Spec, i.Role) }) {
		return nil
	}
	return s.Job.Status.CheckpointRequest
}

func fail(f *v1alpha1.Failure, reason, message string) *Ruling {
	return &Ruling{Kind: Fail, Reason: reason, Message: failure.WithMessage(f, message), Failure: f}
}

func failFatally(s *state.Snapshot, incident *failure.Incident) *Ruling {
	policy := s.Job.Spec.ReplicaSpecs[incident.Role].RestartPolicy
	switch {
	case incident.FailedBy != nil:
		rule := failure.RuleText(s.Job, *incident.FailedBy)
		return fail(&incident.Failure, v1alpha1.ReasonFailJobRule, fmt.Sprintf("%s, and %s fails the job.", failure.Describe(&incident.Failure), rule))
	case policy == v1alpha1.RestartNever:
		return fail(&incident.Failure, v1alpha1.ReasonFatalExit, failure.Describe(&incident.Failure)+", which restartPolicy Never does not restart.")
	default:
		return fail(&incident.Failure, v1alpha1.ReasonFatalExit, fmt.Sprintf("%s, which is permanent under restartPolicy %s.", failure.Describe(&incident.Failure), policy))
	}
}

// restartMessage describes the incident: what broke, who follows, what it costs.
func restartMessage(s *state.Snapshot, incident *failure.Incident, number, limit int32) string {
	charge, follow := "not charged", ""
	if incident.Charged {
		charge = fmt.Sprintf("restart %d of %d", number, limit)
	}
	if incident.Followers > 0 {
		follow = fmt.Sprintf(", %d more follow", incident.Followers)
	}
	text := failure.Describe(&incident.Failure)
	switch incident.Scope {
	case v1alpha1.ScopeJob:
		text += fmt.Sprintf(": the whole job restarts as attempt %d%s, %s.", s.Job.Status.Attempt+1, follow, charge)
	case v1alpha1.ScopeRole:
		text += fmt.Sprintf(": all replicas of role %s are replaced%s, %s.", incident.Role, follow, charge)
	default:
		what := "only this replica is replaced"
		if incident.Followers > 0 {
			what = fmt.Sprintf("this replica is replaced, and %d more with it", incident.Followers)
		}
		text += fmt.Sprintf(": %s, %s.", what, charge)
	}
	return failure.WithMessage(&incident.Failure, text+beside(s, incident)+failure.Hint(&s.Job.Spec, &incident.Failure))
}

// joinMessage describes an end that is part of an incident of the last seconds.
func joinMessage(incident *failure.Incident) string {
	what := "this replica is replaced"
	if incident.Scope == v1alpha1.ScopeRole {
		what = fmt.Sprintf("all replicas of role %s are replaced", incident.Role)
	}
	return failure.WithMessage(&incident.Failure, fmt.Sprintf("%s within seconds of %s: %s as part of that incident, not charged again.",
		failure.Describe(&incident.Failure), failure.SlotOf(&incident.Joins.Failure), what))
}

// besideNamed is how many replicas a message names of those whose logs are kept as well.
const besideNamed = 4

// beside names the replicas that ended by themselves at about the same time. Their logs are kept as well.
func beside(s *state.Snapshot, incident *failure.Incident) string {
	if incident.Scope != v1alpha1.ScopeJob {
		return ""
	}
	var names []string
	for r := range s.Replicas() {
		if r.Pod != nil && failure.EndedBeside(&incident.Failure, r.Pod) {
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
	if text += ": "; incident.Alike > 0 {
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

// followers returns how many other replicas restart with the broken one. A succeeded replica runs again only with the whole of a
// collective, because the other ranks cannot meet without it.
func followers(s *state.Snapshot, incident *failure.Incident) int32 {
	if incident.Scope == v1alpha1.ScopeReplica {
		return 0
	}
	var n int32
	for r := range s.Replicas() {
		restarts := r.NeedsPod() && r.Slot.Role == incident.Role
		if incident.Scope == v1alpha1.ScopeJob {
			restarts = r.State != state.Succeeded || state.IsMember(&s.Job.Spec, r.Slot.Role)
		}
		n += one(restarts && r.Slot != failure.SlotOf(&incident.Failure))
	}
	return n
}
