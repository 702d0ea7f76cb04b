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
	orders := restartsFor(s, failures(s))
	if len(orders) == 0 {
		return nil, time.Time{}
	}
	verdict := order(s, orders)
	return &verdict, time.Time{}
}

// restartsFor returns what the failures ask to restart. With a failure of scope Job that is the whole job, once, for the
// earliest of them; else each failed replica or role by itself.
func restartsFor(s *state.Snapshot, broken []v1alpha1.Failure) []RestartOrder {
	var orders []RestartOrder
	for _, f := range broken {
		if isGivenUp(s, &f) {
			continue
		}
		o := RestartOrder{Failure: f, Scope: ScopeOf(&s.Job.Spec, f.Role, int(f.Index)), Billed: isBilled(&f)}
		switch {
		case o.Scope == v1alpha1.ScopeJob:
			// an independent replica's fatal exit is no consequence of this failure
			if i := slices.IndexFunc(orders, func(o RestartOrder) bool { return o.Failure.Cause == v1alpha1.CauseFatal }); i >= 0 {
				return orders[i : i+1]
			}
			return []RestartOrder{o}
		case o.Scope == v1alpha1.ScopeRole && slices.ContainsFunc(orders, func(p RestartOrder) bool { return p.Failure.Role == f.Role }):
			continue
		default:
			orders = append(orders, o)
		}
	}
	return orders
}

// order returns the verdict on restarts that failures ask for: a fatal one or one beyond the budget fails the job.
func order(s *state.Snapshot, orders []RestartOrder) Verdict {
	billed := s.Job.Status.BilledRestarts
	for i := range orders {
		f := &orders[i].Failure
		if f.Cause == v1alpha1.CauseFatal {
			return fail(f, v1alpha1.ReasonFatalExit, Describe(f)+", which "+whyFatal(s, f)+".")
		}
		if orders[i].Billed {
			billed++
		}
		orders[i].Message = restartMessage(s, &orders[i], billed)
		if limit := maxRestarts(s); orders[i].Billed && billed > limit {
			return fail(f, v1alpha1.ReasonMaxRestartsExceeded,
				fmt.Sprintf("%s and recovery.maxRestarts (%d) is used up.", Describe(f), limit))
		}
	}
	first := &orders[0]
	return Verdict{
		Ruling: Restart, Reason: RestartReason(first.Failure.Cause), Message: first.Message,
		Failure: &first.Failure, Restarts: orders, NextStart: s.Now.Add(backOff(s, first.Failure.Cause)),
	}
}

func fail(f *v1alpha1.Failure, reason, message string) Verdict {
	return Verdict{Ruling: Fail, Reason: reason, Message: message, Failure: f}
}

func whyFatal(s *state.Snapshot, f *v1alpha1.Failure) string {
	policy := s.Job.Spec.ReplicaSpecs[f.Role].RestartPolicy
	if policy == v1alpha1.RestartNever {
		return "restartPolicy Never does not restart"
	}
	return fmt.Sprintf("restartPolicy %s takes for permanent", policy)
}

// RestartReason returns the condition reason of a restart for that cause.
func RestartReason(cause v1alpha1.Cause) string {
	switch cause {
	case v1alpha1.CauseInfrastructure:
		return v1alpha1.ReasonReplicaLost
	case v1alpha1.CauseStartup:
		return v1alpha1.ReasonStartupDeadline
	default:
		return v1alpha1.ReasonReplicaFailed
	}
}

func restartMessage(s *state.Snapshot, o *RestartOrder, billed int32) string {
	charge := "not charged"
	if o.Billed {
		charge = fmt.Sprintf("restart %d of %d", billed, maxRestarts(s))
	}
	text := Describe(&o.Failure)
	switch o.Scope {
	case v1alpha1.ScopeJob:
		return fmt.Sprintf("%s: the whole job restarts as attempt %d, %s.", text, s.Job.Status.Attempt+1, charge)
	case v1alpha1.ScopeRole:
		return fmt.Sprintf("%s: all replicas of role %s are replaced, %s.", text, o.Failure.Role, charge)
	default:
		return fmt.Sprintf("%s: only this replica is replaced, %s.", text, charge)
	}
}
