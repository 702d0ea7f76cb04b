package policy

import (
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/budget"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/nodes"
	"github.com/trainingjob/operator/pkg/state"
)

// rule answers one question about a snapshot. It returns a ruling if it has one, and when it may have one without another event; zero for
// never.
type rule func(*state.Snapshot) (ruling *Ruling, wake time.Time)

var rules = []rule{finished, suspended, succeeded, expired, failed, requested, scaledIn, stranded, late, unplaced, stalled}

// Judge returns the verdict on the snapshot.
func Judge(s *state.Snapshot) Verdict {
	ruling, wake := firstRuling(s)
	v := Verdict{Ruling: ruling, Wake: wake, Facts: Facts{
		Avoided:       nodes.NotPreferred(s),
		BlocksRunning: blocksRunning(s),
		NotRunning:    notRunning(s),
		Stalled:       whyStalled(s),
		Unread:        whyUnread(s),
		Accounts:      accountsOf(s),
	}}
	if v.Kind == Final {
		return v
	}
	v.GivenUp, v.Hastened = givenUp(s, v.Restarts), hastened(s)
	v.Calm, v.Settled = budget.CalmSlots(s)
	v.Amendments = failure.Explain(s, v.Restarts)
	v.Accounts = nextAccounts(s, &v)
	return v
}

// breakers are the rules that end a hold: the job's success, and the user's deadlines for the whole job.
var breakers = []rule{succeeded, expired, unplaced}

// firstRuling applies the rules in their order until one rules. wake is when to judge again without another event.
func firstRuling(s *state.Snapshot) (Ruling, time.Time) {
	first, wake := firstOf(s, rules)
	if first.Kind == Hold {
		breaks, at := firstOf(s, breakers)
		wake = state.Earliest(wake, at)
		if breaks.Kind != Continue {
			first = breaks
		}
	}
	return first, state.Earliest(wake, NextLoss(s))
}

// firstOf returns the first ruling of the rules, or Continue. wake is when one of the applied rules may rule otherwise.
func firstOf(s *state.Snapshot, rules []rule) (first Ruling, wake time.Time) {
	for _, apply := range rules {
		ruling, at := apply(s)
		wake = state.Earliest(wake, at)
		if ruling != nil {
			return *ruling, wake
		}
	}
	return Ruling{}, wake
}

// NextLoss returns when the next node in trouble counts as lost; zero if there is none. A suspended or finished job needs this
// too, to delete its pods.
func NextLoss(s *state.Snapshot) time.Time {
	var next time.Time
	for i := range s.Nodes {
		if s.Now.Before(s.Nodes[i].Lost.Time) {
			next = state.Earliest(next, s.Nodes[i].Lost.Time)
		}
	}
	return next
}

// Kind is the kind of a ruling.
type Kind int

// The kinds of rulings.
const (
	// Continue: the job continues; its pods converge to its status.
	Continue Kind = iota
	// Hold: a rule waits for something, such as a checkpoint. The job continues until then. Only the breakers can overrule a
	// hold.
	Hold
	// Final: the job ended earlier; its result stays.
	Final
	// Suspend: the job is suspended, or must be.
	Suspend
	// Succeed: the job has succeeded.
	Succeed
	// Fail: the job has failed.
	Fail
	// Restart: replicas, or the whole job, get another life.
	Restart
)

// Ruling is the answer of one rule: what happens to the job, and why.
type Ruling struct {
	Kind Kind
	// Reason is a condition reason of the API. Message is a sentence for the user.
	Reason  string
	Message string
	// Failure is the evidence of a Fail or Restart by failure; nil otherwise.
	Failure *v1alpha1.Failure
	// Restarts are the incidents that begin now: several of scope Replica or Role, or one of scope Job.
	Restarts []failure.Incident
	// Asked is the checkpoint request to the ranks before they are stopped; nil for none.
	Asked *v1alpha1.CheckpointRequest
	// Finishing is whether ranks of a succeeded job still have time to end by themselves.
	Finishing bool
	// Expired is whether the time to live of a finished job is over.
	Expired bool
}

// Facts are what Judge finds in addition to the ruling.
type Facts struct {
	// Amendments are earlier incidents whose true cause is found now.
	Amendments []failure.Amendment
	// GivenUp are the failures of evaluators that do not run again in this attempt.
	GivenUp []failure.Incident
	// Hastened are the replicas whose next lives answer a user's request. Their back-off ends.
	Hastened []*state.Replica
	// Calm are the slots whose next restart is the first in a row. Settled are the slots whose NextStart no longer matters.
	Calm, Settled []state.Slot
	// Accounts is what the status keeps of restarts.
	Accounts Accounts
	// Avoided are the nodes to which pods created now prefer all others.
	Avoided []string
	// NotRunning is the lowest-ranked replica that is not running; nil if all run. BlocksRunning is the first one that the job cannot run
	// without.
	BlocksRunning, NotRunning *state.Replica
	// Stalled describes for how long the job has made no progress; empty while it has time.
	Stalled string
	// Unread is why the operator has not been able to read the training's page for that long; empty if it has.
	Unread string
}

// Verdict is everything decided in one reconcile: the ruling, and the facts that the plan needs besides.
type Verdict struct {
	Ruling
	Facts
	// Wake is when to judge again without another event; zero for never.
	Wake time.Time
}

// GoesOn reports whether the job continues, at least for now: its pods converge to its status.
func (v *Verdict) GoesOn() bool { return v.Kind == Continue || v.Kind == Hold }
