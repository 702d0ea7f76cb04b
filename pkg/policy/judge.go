package policy

import (
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Ruling is what is to become of a job.
type Ruling int

// The rulings.
const (
	// Continue: nothing changes the job's life; its pods converge to what its status says.
	Continue Ruling = iota
	// Hold: a rule waits for something, such as a checkpoint. The job goes on until then, and no later rule judges it but those that break
	// a hold.
	Hold
	// Final: the job has ended before; it stays as it is.
	Final
	// Suspend: the job rests, or is to.
	Suspend
	// Succeed: the job has succeeded.
	Succeed
	// Fail: the job has failed.
	Fail
	// Restart: replicas, or the whole job, get another life.
	Restart
)

// Verdict is all that is decided in one pass: what becomes of the job, why, and what follows from it.
type Verdict struct {
	Ruling Ruling
	// Reason is a condition reason of the API; Message a sentence for the user.
	Reason  string
	Message string
	// Failure is the evidence of a Fail or Restart by failure; nil otherwise.
	Failure *v1alpha1.Failure
	// Asked is what the ranks are asked before they are stopped; nil if nothing, or not any more.
	Asked *v1alpha1.CheckpointRequest
	// Restarts are the incidents that begin now: several of scope Replica or Role, or one of scope Job.
	Restarts []Incident
	// Amendments are earlier incidents whose true cause shows now.
	Amendments []Amendment
	// GivenUp are the failures of evaluators that are not run again in this attempt.
	GivenUp []Incident
	// Park and Unpark are the workers of an elastic job that get no pod from now on, or get one again.
	Park, Unpark []state.Slot
	// Calm are the slots whose next restart is the first in a row; Settled those whose NextStart matters no more.
	Calm, Settled []state.Slot
	// Accounts is what the status keeps of restarts.
	Accounts Accounts
	// Avoided are the nodes to which pods created now prefer all others.
	Avoided []string
	// Absent is the replica of the lowest rank that does not run, nil if all do; Missing is that without which the job does not.
	Missing, Absent *state.Replica
	// Stalled says for how long the job has made no progress; empty while it has time.
	Stalled string
	// Scopes say by role what is restarted when a replica of it breaks; of elastic workers it is said of replica 1, as replica
	// 0 can host their rendezvous.
	Scopes map[v1alpha1.Role]v1alpha1.RestartScope
	// Finishing is whether ranks of a job that has succeeded still have time to end by themselves.
	Finishing bool
	// Expired is whether the time to live of a finished job is over.
	Expired bool
	// Wake is when to judge again although nothing else happens; zero for never.
	Wake time.Time
}

// GoesOn reports whether the pods of the job converge to what its status says: nothing changes its life, at least for now.
func (v *Verdict) GoesOn() bool { return v.Ruling == Continue || v.Ruling == Hold }

// rule answers one question about a snapshot. It returns a verdict if it has one, and the time (zero: none)
// at which it may have one although nothing else happens.
type rule func(*state.Snapshot) (verdict *Verdict, wake time.Time)

var rules = []rule{finished, suspended, succeeded, expired, failed, requested, scaledIn, ill, late, unplaced, stalled}

// Judge returns what the snapshot means for the job.
func Judge(s *state.Snapshot) Verdict {
	v := firstVerdict(s)
	v.Scopes = scopes(&s.Job.Spec)
	v.Avoided = avoided(s)
	v.Missing, v.Absent = firstMissing(s), firstAbsent(s)
	v.Stalled = whyStalled(s)
	v.Accounts = accountsOf(s)
	if v.Ruling == Final {
		return v
	}
	v.GivenUp = givenUp(s)
	v.Calm, v.Settled = calmSlots(s)
	v.Amendments = explain(s, v.Restarts)
	v.Accounts.keep(s, &v)
	if v.GoesOn() {
		var fits time.Time
		v.Park, v.Unpark, fits = fit(s)
		v.Wake = state.Earliest(v.Wake, fits)
	}
	return v
}

// breakers are the rules that end a hold: the job's success, and the deadlines that its user sets for the whole of it.
var breakers = []rule{succeeded, expired, unplaced}

// firstVerdict asks the rules in their order, until one has a verdict.
func firstVerdict(s *state.Snapshot) Verdict {
	first, wake := firstOf(s, rules)
	if first.Ruling == Hold {
		breaks, at := firstOf(s, breakers)
		wake = state.Earliest(wake, at)
		if breaks.Ruling != Continue {
			first = breaks
		}
	}
	first.Wake = state.Earliest(wake, nextLoss(s))
	return first
}

// firstOf returns the first verdict that one of the rules has, and when one of those asked may have another; Continue if none has any.
func firstOf(s *state.Snapshot, rules []rule) (first Verdict, wake time.Time) {
	for _, ask := range rules {
		verdict, at := ask(s)
		wake = state.Earliest(wake, at)
		if verdict != nil {
			return *verdict, wake
		}
	}
	return Verdict{}, wake
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
