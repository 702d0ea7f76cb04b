package policy

import (
	"time"

	"github.com/trainingjob/operator/pkg/budget"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/nodes"
	"github.com/trainingjob/operator/pkg/state"
)

// rule answers one question about a snapshot. It returns a ruling if it has one, and the time (zero: none)
// at which it may have one although nothing else happens.
type rule func(*state.Snapshot) (ruling *Ruling, wake time.Time)

var rules = []rule{finished, suspended, succeeded, expired, failed, requested, scaledIn, unhealthy, stranded, late, unplaced, stalled}

// Judge returns what the snapshot means for the job.
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

// breakers are the rules that end a hold: the job's success, and the deadlines that its user sets for the whole of it.
var breakers = []rule{succeeded, expired, unplaced}

// firstRuling calls the rules in their order until one rules. It also returns when to call them again without another change.
func firstRuling(s *state.Snapshot) (Ruling, time.Time) {
	first, wake := firstOf(s, rules)
	if first.Kind == Hold {
		breaks, at := firstOf(s, breakers)
		wake = state.Earliest(wake, at)
		if breaks.Kind != Continue {
			first = breaks
		}
	}
	return first, state.Earliest(wake, nextLoss(s))
}

// firstOf returns the first ruling of the rules, and when one of those asked may rule otherwise; Continue if none rules.
func firstOf(s *state.Snapshot, rules []rule) (first Ruling, wake time.Time) {
	for _, ask := range rules {
		ruling, at := ask(s)
		wake = state.Earliest(wake, at)
		if ruling != nil {
			return *ruling, wake
		}
	}
	return Ruling{}, wake
}

// nextLoss returns the next time at which a node in trouble comes to count as lost; zero if there is none. A job that rests or has
// finished waits for it as well, to be rid of its pods.
func nextLoss(s *state.Snapshot) time.Time {
	var next time.Time
	for i := range s.Nodes {
		if s.Now.Before(s.Nodes[i].Lost.Time) {
			next = state.Earliest(next, s.Nodes[i].Lost.Time)
		}
	}
	return next
}
