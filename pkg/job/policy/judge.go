package policy

import (
	"time"

	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
)

// rules are applied in this order, and the first ruling wins. A rule may rely on the rules above it: none of them has ruled. Each is in the file of its
// name.
var rules = []rule{
	finished,  // the job has ended: nothing changes its result
	suspended, // the user suspends the job, or pods of the suspended job still end
	succeeded, // the replicas that decide the job's success have succeeded
	expired,   // activeDeadlineSeconds are over
	failed,    // replicas broke: they restart, or the job fails
	requested, // a user requests a restart of the whole job or of one replica
	scaledIn,  // replicas are removed: the ranks save a checkpoint first
	stranded,  // a replica fits nowhere in the domain of the other replicas
	late,      // startupDeadlineSeconds are over and not all replicas run
	unplaced,  // scheduling.timeoutSeconds are over and not every pod has a node
	stalled,   // rank 0 has not reported in time
}

// breakers are the rules that end a hold: the job's success, and the user's deadlines for the whole job.
var breakers = []rule{succeeded, expired, unplaced}

// rule answers one question about a snapshot. It returns a ruling if it has one, and when it may have one without another event; zero for
// never.
type rule func(*state.Snapshot) (ruling *Ruling, wake time.Time)

// Judge returns the verdict on the snapshot.
func Judge(s *state.Snapshot) Verdict {
	ruling, wake := firstRuling(s)
	return Verdict{Ruling: ruling, Facts: factsOf(s, &ruling), Wake: wake}
}

// factsOf returns the facts beside the ruling. A final result has none: nothing changes what the status shows.
func factsOf(s *state.Snapshot, ruling *Ruling) Facts {
	if ruling.Kind == Final {
		return Facts{}
	}
	amendments := failure.Explain(s, ruling.Restarts)
	calm, settled := budget.CalmSlots(s)
	return Facts{
		Amendments: amendments, GivenUp: givenUp(s, ruling.Restarts), Hastened: hastened(s), Calm: calm, Settled: settled,
		Accounts: nextAccounts(s, ruling, amendments), Avoided: nodes.NotPreferred(s),
		BlocksRunning: blocksRunning(s), NotRunning: notRunning(s), NoProgress: noProgress(s), Unread: whyUnread(s),
	}
}

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
		if s.Now.Before(s.Nodes[i].Loss.Time) {
			next = state.Earliest(next, s.Nodes[i].Loss.Time)
		}
	}
	return next
}
