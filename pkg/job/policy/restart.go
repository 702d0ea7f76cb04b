package policy

import (
	"fmt"
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// restart returns the ruling on failures that need a restart: they restart, or the first that may not fails the job.
func restart(s *state.Snapshot, incidents []failure.Restart) *Ruling {
	for n := range incidents {
		if forbidden := mayRestart(s, &incidents[n]); forbidden != nil {
			return forbidden
		}
		incidents[n].Followers = followers(s, &incidents[n])
	}
	for n := range incidents {
		describe(s, incidents, n)
	}
	begun := slices.IndexFunc(incidents, func(incident failure.Restart) bool { return incident.Joins == nil })
	first := &incidents[max(begun, 0)]
	return &Ruling{
		Kind: Restart, Reason: restartReason(&first.Failure), Message: first.Sentence, Failure: &first.Failure, Restarts: incidents, Asked: keptRequest(s, incidents),
	}
}

// mayRestart returns nil if the incident may restart its replicas. Otherwise it returns the ruling that fails the job: the failure is fatal, restarts
// bring no progress, or the budget is used up.
func mayRestart(s *state.Snapshot, incident *failure.Restart) *Ruling {
	name := budget.Of(&s.Job.Spec, incident)
	limit := budget.Limit(&s.Job.Spec, name)
	switch f := &incident.Failure; {
	case failure.IsFatal(*incident):
		return failFatally(s, incident)
	case isStuck(s, &incident.Incident):
		return fail(f, v1alpha1.ReasonNoProgress, fmt.Sprintf("%s, and recovery.noProgressLimit (%d) restarts in a row have not brought the training beyond step %d.",
			failure.Describe(f), noProgressLimit(s), s.RecordedStep()))
	case budget.Number(s, incident) > limit:
		return fail(f, v1alpha1.ReasonMaxRestartsExceeded, fmt.Sprintf("%s and %s is used up.%s",
			failure.Describe(f), budget.Describe(name, limit), failure.Hint(s, f)))
	default:
		return nil
	}
}

// describe completes one of the incidents that restart: with its back-off, the replicas that restart as part of it, and its message.
func describe(s *state.Snapshot, incidents []failure.Restart, n int) {
	incident := &incidents[n]
	incident.InRow, incident.NextStart = budget.Backoff(s, incident)
	if incident.Joins != nil {
		incident.Sentence = joinMessage(incident)
		return
	}
	incident.Followers += failure.Joined(incidents, &incident.Incident)
	incident.Sentence = restartMessage(s, incident)
}

// restartForTime returns the ruling on a deadline that has passed. No replica has failed by itself. A rule may restart less for a hang: the time of
// other deadlines counts from the start of the attempt, and only another attempt has new time.
func restartForTime(s *state.Snapshot, f v1alpha1.Failure) *Ruling {
	incident := failure.NewRestart(s, f, v1alpha1.ScopeJob, nil)
	if f.Reason != v1alpha1.ReasonProgressStalled {
		incident.Scope = v1alpha1.ScopeJob
	}
	return restart(s, []failure.Restart{incident})
}

// keptRequest returns the checkpoint request of the job if only replicas restart that the training does not need: its ranks go on saving.
func keptRequest(s *state.Snapshot, incidents []failure.Restart) *v1alpha1.CheckpointRequest {
	if slices.ContainsFunc(incidents, func(i failure.Restart) bool { return !failure.IsApart(&s.Job.Spec, i.Role) }) {
		return nil
	}
	return s.Job.Status.CheckpointRequest
}

func fail(f *v1alpha1.Failure, reason, message string) *Ruling {
	return &Ruling{Kind: Fail, Reason: reason, Message: failure.WithMessage(f, message), Failure: f}
}

func failFatally(s *state.Snapshot, incident *failure.Restart) *Ruling {
	policy := s.Job.Spec.ReplicaSpecs[incident.Role].RestartPolicy
	switch {
	case incident.FailedBy != nil:
		text := failure.RuleText(s.Job, *incident.FailedBy)
		return fail(&incident.Failure, v1alpha1.ReasonFailJobRule, fmt.Sprintf("%s, and %s fails the job.", failure.Describe(&incident.Failure), text))
	case policy == v1alpha1.RestartNever:
		return fail(&incident.Failure, v1alpha1.ReasonFatalExit, failure.Describe(&incident.Failure)+", which restartPolicy Never does not restart.")
	default:
		return fail(&incident.Failure, v1alpha1.ReasonFatalExit, fmt.Sprintf("%s, which is permanent under restartPolicy %s.", failure.Describe(&incident.Failure), policy))
	}
}

// followers returns how many other replicas restart with the broken one. A succeeded replica runs again only with the whole of a
// collective, because the other ranks cannot meet without it.
func followers(s *state.Snapshot, incident *failure.Restart) int32 {
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
