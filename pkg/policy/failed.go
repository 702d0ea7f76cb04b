package policy

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

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
	orders := restartsFor(s, failures(s))
	if len(orders) == 0 {
		return nil, time.Time{}
	}
	verdict := order(s, orders)
	if held, until := heldBack(s, &verdict); held != nil {
		return held, until
	}
	return &verdict, time.Time{}
}

// restartsFor returns what the failures, earliest first, ask to restart: with one of scope Job that is the whole job, once;
// else each failed replica or role by itself.
func restartsFor(s *state.Snapshot, broken []RestartOrder) []RestartOrder {
	broken = slices.DeleteFunc(broken, func(o RestartOrder) bool { return isGivenUp(s, &o) })
	first := slices.IndexFunc(broken, func(o RestartOrder) bool { return o.Scope == v1alpha1.ScopeJob })
	if first >= 0 {
		// an independent replica's fatal exit before it is no consequence of this failure
		if i := slices.IndexFunc(broken[:first+1], isFatal); i >= 0 {
			return broken[i : i+1]
		}
		i := first + trueCause(s, broken[first:])
		return broken[i : i+1]
	}
	var orders []RestartOrder
	for _, o := range broken {
		sameRole := func(p RestartOrder) bool { return p.Failure.Role == o.Failure.Role }
		if o.Scope != v1alpha1.ScopeRole || !slices.ContainsFunc(orders, sameRole) {
			orders = append(orders, o)
		}
	}
	return orders
}

func isFatal(o RestartOrder) bool { return o.Failure.Cause == v1alpha1.CauseFatal }

// trueCause returns which of the failures, earliest first, is the incident's: the earliest, unless a loss explains it.
func trueCause(s *state.Snapshot, broken []RestartOrder) int {
	first := broken[0].Failure.Time.Time
	loss := slices.IndexFunc(broken, func(o RestartOrder) bool {
		return o.Scope == v1alpha1.ScopeJob && explainsFailure(s, &o.Failure, first)
	})
	return max(loss, 0)
}

// order returns the verdict on restarts that failures ask for: a fatal one or one beyond a budget fails the job.
func order(s *state.Snapshot, orders []RestartOrder) Verdict {
	used := map[v1alpha1.BudgetName]int32{}
	for i := range orders {
		o := &orders[i]
		if isFatal(*o) {
			return failFatally(s, o)
		}
		if isStuck(s, &o.Failure) {
			return fail(&o.Failure, v1alpha1.ReasonNoProgress, fmt.Sprintf("%s, and recovery.noProgressLimit (%d) restarts in a row have not brought the training beyond step %d.",
				Describe(&o.Failure), noProgressLimit(s), s.Job.Status.Progress.Step))
		}
		name := budgetOf(o)
		used[name]++
		count, limit := int32(len(chargedTimes(s, name)))+used[name], limitOf(s, name)
		if name != "" && count > limit {
			return fail(&o.Failure, v1alpha1.ReasonMaxRestartsExceeded, fmt.Sprintf("%s and %s is used up.", Describe(&o.Failure), nameOf(name, limit)))
		}
		o.Followers = followers(s, o)
		o.Message = restartMessage(s, o, count, limit)
		o.InRow, o.NextStart = backOff(s, o)
	}
	first := &orders[0]
	return Verdict{
		Ruling: Restart, Reason: RestartReason(&first.Failure), Message: first.Message, Failure: &first.Failure, Restarts: orders,
	}
}

func fail(f *v1alpha1.Failure, reason, message string) Verdict {
	return Verdict{Ruling: Fail, Reason: reason, Message: message, Failure: f}
}

// failFatally returns the verdict on a failure that no restart can mend.
func failFatally(s *state.Snapshot, o *RestartOrder) Verdict {
	policy := s.Job.Spec.ReplicaSpecs[o.Failure.Role].RestartPolicy
	switch {
	case failsJob(s.Job, o):
		return fail(&o.Failure, v1alpha1.ReasonFailJobRule, fmt.Sprintf("%s, and recovery.rules[%d] says FailJob.", Describe(&o.Failure), *o.FailedBy))
	case o.FailedBy != nil:
		return fail(&o.Failure, v1alpha1.ReasonFatalExit, fmt.Sprintf("%s, which recovery.rules[%d] calls Fatal.", Describe(&o.Failure), *o.FailedBy))
	case policy == v1alpha1.RestartNever:
		return fail(&o.Failure, v1alpha1.ReasonFatalExit, Describe(&o.Failure)+", which restartPolicy Never does not restart.")
	default:
		return fail(&o.Failure, v1alpha1.ReasonFatalExit, fmt.Sprintf("%s, which restartPolicy %s takes for permanent.", Describe(&o.Failure), policy))
	}
}

// followers returns how many other replicas are restarted with the one that broke.
func followers(s *state.Snapshot, o *RestartOrder) int32 {
	if o.Scope == v1alpha1.ScopeReplica {
		return 0
	}
	var n int32
	for _, slot := range s.Slots() {
		again := !s.IsDone(slot) || o.Scope == v1alpha1.ScopeJob && IsCollective(&s.Job.Spec)
		if again && !s.IsParked(slot) && (o.Scope == v1alpha1.ScopeJob || slot.Role == o.Failure.Role) {
			n++
		}
	}
	return max(n-1, 0)
}

// RestartReason returns the condition reason of a restart because of the failure.
func RestartReason(f *v1alpha1.Failure) string {
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
	case v1alpha1.CauseStartup:
		return v1alpha1.ReasonStartupFailed
	default:
		return v1alpha1.ReasonReplicaFailed
	}
}

// restartMessage tells the incident: what broke, who follows, what it costs.
func restartMessage(s *state.Snapshot, o *RestartOrder, count, limit int32) string {
	charge := "not charged"
	if o.Charged {
		charge = fmt.Sprintf("restart %d of %d", count, limit)
	}
	text := Describe(&o.Failure)
	switch o.Scope {
	case v1alpha1.ScopeJob:
		return fmt.Sprintf("%s: the whole job restarts as attempt %d%s, %s.", text, s.Job.Status.Attempt+1, follow(o), charge)
	case v1alpha1.ScopeRole:
		return fmt.Sprintf("%s: all replicas of role %s are replaced%s, %s.", text, o.Failure.Role, follow(o), charge)
	default:
		return fmt.Sprintf("%s: only this replica is replaced, %s.", text, charge)
	}
}

// follow says how many others are restarted too; nothing if nobody is.
func follow(o *RestartOrder) string {
	if o.Followers == 0 {
		return ""
	}
	return fmt.Sprintf(", %d more follow", o.Followers)
}

func incidentWindow(s *state.Snapshot) time.Duration {
	return time.Duration(ptr.Deref(s.Job.Spec.Recovery.IncidentWindowSeconds, v1alpha1.DefaultIncidentWindowSeconds)) * time.Second
}
