package policy

import (
	"time"

	"github.com/trainingjob/operator/pkg/budget"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/nodes"
	"github.com/trainingjob/operator/pkg/state"
)

// rule answers one question about a snapshot. It returns a ruling if it has one, and when it may have one without another event; zero for
// never.
type rule func(*state.Snapshot) (ruling *Ruling, wake time.Time)

var rules = []rule{finished, suspended, succeeded, expired, failed, requested, scaledIn, unhealthy, stranded, late, unplaced, stalled}

// Judge returns the verdict on the snapshot.
func Judge(s *state.Snapshot) Verdict {
	ruling, wake := firstRuling(s)
	v := Verdict{Ruling: ruling, Wake: wake, Facts: Facts{
		Scopes:        failure.Scopes(&s.Job.Spec),
		Avoided:       nodes.NotPreferred(s),
		BlocksRunning: blocksRunning(s),
		NotRunning:    notRunning(s),
		Stalled:       whyStalled(s),
		Accounts:      accountsOf(s),
	}}
	if v.Kind == Final {
		return v
	}
	v.GivenUp = givenUp(s)
	v.Calm, v.Settled = budget.CalmSlots(s, longestCount(s))
	v.Amendments = failure.Explain(s, v.Restarts)
	v.Accounts = nextAccounts(s, &v)
	if v.GoesOn() {
		var fits time.Time
		v.Park, v.Unpark, fits = fit(s)
		v.Wake = state.Earliest(v.Wake, fits)
	}
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
