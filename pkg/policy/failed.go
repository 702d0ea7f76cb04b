package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// failed rules because replicas have broken: either a restart mends it, or the job has failed.
func failed(s *state.Snapshot) (*Verdict, time.Time) {
	if isResting(s) { // what is left of before the suspension, on a lost node, gives way to the next lives
		return nil, time.Time{}
	}
	if fatal := fatalEvidence(s); fatal != nil {
		verdict := failFatally(s, fatal)
		return &verdict, time.Time{}
	}
	incidents := restartsFor(s, failures(s))
	if len(incidents) == 0 {
		return nil, time.Time{}
	}
	verdict := restart(s, incidents)
	for _, hold := range []func(*state.Snapshot, *Verdict) (*Verdict, time.Time){heldBack, gathering, savingFirst} {
		if held, until := hold(s, &verdict); held != nil {
			return held, until
		}
	}
	return &verdict, time.Time{}
}

// restartsFor returns what the failures, earliest first, ask to restart: with one of scope Job that is the whole job, once;
// else each failed replica or role by itself.
func restartsFor(s *state.Snapshot, broken []Incident) []Incident {
	broken = slices.DeleteFunc(broken, func(o Incident) bool { return isGivenUp(s, &o) })
	first := slices.IndexFunc(broken, func(o Incident) bool { return o.Scope == v1alpha1.ScopeJob })
	if first >= 0 {
		// an independent replica's fatal exit before it is no consequence of this failure
		if i := slices.IndexFunc(broken[:first+1], isFatal); i >= 0 {
			return broken[i : i+1]
		}
		i := first + trueCause(s, broken[first:])
		broken[i].Alike = alike(broken, &broken[i].Failure)
		return broken[i : i+1]
	}
	var apart []Incident
	for _, i := range broken {
		ofItsRole := func(other Incident) bool { return other.Role == i.Role }
		if i.Scope != v1alpha1.ScopeRole || !slices.ContainsFunc(apart, ofItsRole) {
			apart = append(apart, i)
		}
	}
	return apart
}

// trueCause returns which of the failures, earliest first, is the incident's: the earliest, unless a loss explains it.
func trueCause(s *state.Snapshot, broken []Incident) int {
	first := broken[0].Time.Time
	loss := slices.IndexFunc(broken, func(o Incident) bool {
		return o.Scope == v1alpha1.ScopeJob && explainsFailure(s, &o.Failure, first)
	})
	return max(loss, 0)
}

// restart returns the verdict on restarts that failures ask for: a fatal one or one beyond a budget fails the job.
func restart(s *state.Snapshot, incidents []Incident) Verdict {
	used := map[v1alpha1.BudgetName]int32{}
	for n := range incidents {
		i := &incidents[n]
		if isFatal(*i) {
			return failFatally(s, i)
		}
		if isStuck(s, &i.Failure) {
			return fail(&i.Failure, v1alpha1.ReasonNoProgress, fmt.Sprintf("%s, and recovery.noProgressLimit (%d) restarts in a row have not brought the training beyond step %d.",
				describe(&i.Failure), noProgressLimit(s), s.RecordedStep()))
		}
		name := budgetOf(i)
		if _, isCounted := used[name]; !isCounted {
			used[name] = int32(len(chargedTimes(s, name)))
		}
		used[name]++
		count, limit := used[name], limitOf(s, name)
		if name != "" && count > limit {
			return fail(&i.Failure, v1alpha1.ReasonMaxRestartsExceeded, fmt.Sprintf("%s and %s is used up.", describe(&i.Failure), nameOf(name, limit)))
		}
		i.Followers = followers(s, i)
		i.Message = restartMessage(s, i, count, limit)
		i.InRow, i.NextStart = backOff(s, i)
	}
	first := &incidents[0]
	return Verdict{
		Ruling: Restart, Reason: restartReason(&first.Failure), Message: first.Message, Failure: &first.Failure, Restarts: incidents,
	}
}

func fail(f *v1alpha1.Failure, reason, message string) Verdict {
	return Verdict{Ruling: Fail, Reason: reason, Message: withItsWords(f, message), Failure: f}
}

// failFatally returns the verdict on a failure that no restart can mend.
func failFatally(s *state.Snapshot, o *Incident) Verdict {
	policy := s.Job.Spec.ReplicaSpecs[o.Role].RestartPolicy
	switch {
	case failsJob(s.Job, o):
		return fail(&o.Failure, v1alpha1.ReasonFailJobRule, fmt.Sprintf("%s, and %s says FailJob.", describe(&o.Failure), ruleText(s.Job, *o.FailedBy)))
	case o.FailedBy != nil:
		return fail(&o.Failure, v1alpha1.ReasonFatalExit, fmt.Sprintf("%s, which %s calls Fatal.", describe(&o.Failure), ruleText(s.Job, *o.FailedBy)))
	case policy == v1alpha1.RestartNever:
		return fail(&o.Failure, v1alpha1.ReasonFatalExit, describe(&o.Failure)+", which restartPolicy Never does not restart.")
	default:
		return fail(&o.Failure, v1alpha1.ReasonFatalExit, fmt.Sprintf("%s, which restartPolicy %s takes for permanent.", describe(&o.Failure), policy))
	}
}

func incidentWindow(s *state.Snapshot) time.Duration { return state.IncidentWindow(&s.Job.Spec) }
