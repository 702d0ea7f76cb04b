package policy

import (
	"fmt"
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// rulingOn returns the ruling on failures that need a restart: they restart, or the first that may not fails the job.
func rulingOn(s *state.Snapshot, restarts []failure.Restart) *Ruling {
	for n := range restarts {
		restarts[n].Number = budget.Number(s, &restarts[n])
		if forbidden := mayRestart(s, &restarts[n]); forbidden != nil {
			return forbidden
		}
		restarts[n].Followers = followers(s, &restarts[n])
	}
	for n := range restarts {
		describe(s, restarts, n)
	}
	begun := slices.IndexFunc(restarts, func(restart failure.Restart) bool { return restart.Joins == nil })
	first := &restarts[max(begun, 0)]
	return &Ruling{
		Kind: Restart, Reason: restartReason(&first.Failure), Message: first.Sentence, Failure: &first.Failure, Restarts: restarts, Asked: keptRequest(s, restarts),
	}
}

// mayRestart returns nil if the restart may begin. Otherwise it returns the ruling that fails the job: the failure is fatal, restarts
// bring no progress, or the budget is used up.
func mayRestart(s *state.Snapshot, restart *failure.Restart) *Ruling {
	name := budget.Of(&s.Job.Spec, restart)
	limit := budget.Limit(&s.Job.Spec, name)
	switch f := &restart.Failure; {
	case failure.IsFatal(*restart):
		return failFatally(s, restart)
	case isStuck(s, &restart.Incident):
		return fail(f, v1alpha1.ReasonNoProgress, fmt.Sprintf("%s, and recovery.noProgressLimit (%d) restarts in a row have not brought the training beyond step %d.",
			failure.Describe(f), noProgressLimit(s), s.RecordedStep()))
	case repeats(s, restart):
		return fail(f, v1alpha1.ReasonNoProgress, fmt.Sprintf("%s, as before each of the last %d restarts in a row: recovery.sameCrashLimit allows no more.",
			failure.Describe(f), sameCrashLimit(s)))
	case restart.Number > limit:
		return fail(f, v1alpha1.ReasonMaxRestartsExceeded, fmt.Sprintf("%s and %s is used up.%s",
			failure.Describe(f), budget.Describe(name, limit), failure.Hint(s, f)))
	default:
		return nil
	}
}

// describe completes one of the restarts: with its back-off, the replicas that restart as part of it, and its message.
func describe(s *state.Snapshot, restarts []failure.Restart, n int) {
	restart := &restarts[n]
	restart.InRow, restart.NextStart = budget.Backoff(s, restart)
	if restart.Joins != nil {
		restart.Sentence = joinMessage(s, restart)
		return
	}
	restart.Followers += failure.Joined(restarts, &restart.Incident)
	restart.Sentence = restartMessage(s, restart)
}

// restartForTime returns the ruling on a deadline that has passed. No replica has failed by itself. A rule may restart less for a hang: the time of
// other deadlines counts from the start of the attempt, and only another attempt has new time.
func restartForTime(s *state.Snapshot, f v1alpha1.Failure) *Ruling {
	restart := failure.NewRestart(s, f, v1alpha1.ScopeJob, nil)
	if f.Reason != v1alpha1.ReasonProgressStalled {
		restart.Scope = v1alpha1.ScopeJob
	}
	return rulingOn(s, []failure.Restart{restart})
}

// keptRequest returns the checkpoint request of the job if only replicas restart that the training does not need: its ranks go on saving.
func keptRequest(s *state.Snapshot, restarts []failure.Restart) *v1alpha1.CheckpointRequest {
	if slices.ContainsFunc(restarts, func(i failure.Restart) bool { return !failure.IsApart(&s.Job.Spec, i.Role) }) {
		return nil
	}
	return s.Job.Status.CheckpointRequest
}

func fail(f *v1alpha1.Failure, reason, message string) *Ruling {
	return &Ruling{Kind: Fail, Reason: reason, Message: failure.WithMessage(f, message), Failure: f}
}

func failFatally(s *state.Snapshot, restart *failure.Restart) *Ruling {
	policy := s.Job.Spec.ReplicaSpecs[restart.Role].RestartPolicy
	switch {
	case restart.FailedBy != nil:
		text := failure.RuleText(s.Job, *restart.FailedBy)
		return fail(&restart.Failure, v1alpha1.ReasonFailJobRule, fmt.Sprintf("%s, and %s fails the job.", failure.Describe(&restart.Failure), text))
	case policy == v1alpha1.RestartNever:
		return fail(&restart.Failure, v1alpha1.ReasonFatalExit, failure.Describe(&restart.Failure)+", which restartPolicy Never does not restart.")
	default:
		return fail(&restart.Failure, v1alpha1.ReasonFatalExit, fmt.Sprintf("%s, which is permanent under restartPolicy %s.", failure.Describe(&restart.Failure), policy))
	}
}

// followers returns how many other replicas restart with the broken one. A succeeded replica runs again only with the whole of a
// collective, because the other ranks cannot meet without it.
func followers(s *state.Snapshot, restart *failure.Restart) int32 {
	if restart.Scope == v1alpha1.ScopeReplica {
		return 0
	}
	var n int32
	for r := range s.Replicas() {
		restarts := r.NeedsPod() && r.Slot.Role == restart.Role
		if restart.Scope == v1alpha1.ScopeJob {
			restarts = r.State != state.Succeeded || state.IsMember(&s.Job.Spec, r.Slot.Role)
		}
		n += one(restarts && r.Slot != failure.SlotOf(&restart.Failure))
	}
	return n
}
