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
	// Continue : nothing changes the job's life; its pods converge to what its status says.
	Continue Ruling = iota
	// Final : the job has its verdict already.
	Final
	// Suspend : the job rests, or is to.
	Suspend
	// Succeed : the job has succeeded.
	Succeed
	// Fail : the job has failed.
	Fail
	// Restart : replicas, or the whole job, get another life.
	Restart
)

// Verdict is a ruling and why.
type Verdict struct {
	Ruling Ruling
	// Reason is a condition reason of the API; Message a sentence for the user.
	Reason  string
	Message string
	// Failure is the evidence of a Fail or Restart by failure; nil otherwise.
	Failure *v1alpha1.Failure
	// Restarts are what to restart: several of scope Replica or Role, or one of scope Job.
	Restarts []RestartOrder
}

// RestartOrder says what to restart, because of which failure.
type RestartOrder struct {
	Failure v1alpha1.Failure
	Scope   v1alpha1.RestartScope
	// Charged is whether the restart is charged to a budget that the user sets.
	Charged bool
	// RuleMade is whether the failure is a loss only because a rule of recovery.rules says so.
	RuleMade bool
	// InRow is the number of restarts in a row that this one makes, and NextStart the time before which the lives that it begins
	// may not begin.
	InRow     int32
	NextStart time.Time
	// Followers is the number of other replicas that are restarted with the one that broke.
	Followers int32
	// FailedBy is the index of the rule of recovery.rules that fails the job, or calls the failure fatal; nil if none does.
	FailedBy *int
	// Message is a sentence for the user.
	Message string
}

// rule answers one question about a snapshot. It returns a verdict if it has one, and the time (zero: none)
// at which it may have one although nothing else happens.
type rule func(*state.Snapshot) (verdict *Verdict, wake time.Time)

var rules = []rule{finished, suspended, succeeded, expired, failed, late, unplaced, stalled}

// Judge returns what the snapshot means for the job, and the time (zero: none) at which to judge again although nothing
// else happens.
func Judge(s *state.Snapshot) (Verdict, time.Time) {
	wake := nextLoss(s)
	var waiting Verdict
	for _, ask := range rules {
		verdict, at := ask(s)
		wake = Earliest(wake, at)
		switch {
		case verdict == nil:
		case verdict.Ruling == Continue: // it says what it waits for; a later rule may not want to
			waiting = *verdict
		default:
			return *verdict, wake
		}
	}
	return waiting, wake
}

// nextLoss returns the next time at which a node in trouble comes to count as lost; zero if there is none. A job that rests or has
// finished waits for it as well, to be rid of its pods.
func nextLoss(s *state.Snapshot) time.Time {
	var next time.Time
	for i := range s.Nodes {
		if s.Now.Before(s.Nodes[i].Lost.Time) {
			next = Earliest(next, s.Nodes[i].Lost.Time)
		}
	}
	return next
}

// Earliest returns the earlier of two times, of which zero ones do not count.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
