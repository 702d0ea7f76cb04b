package policy

import (
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Verdict is everything decided in one reconcile: the ruling, and the facts that the plan needs besides.
type Verdict struct {
	Ruling
	Facts
	// Wake is when to judge again without another event; zero for never.
	Wake time.Time
}

// GoesOn reports whether the job continues, at least for now: its pods converge to its status.
func (v *Verdict) GoesOn() bool { return v.Kind == Continue || v.Kind == Hold }

// Ruling is the answer of one rule: what happens to the job, and why.
type Ruling struct {
	Kind Kind
	// Reason is a condition reason of the API. Message is a sentence for the user.
	Reason  string
	Message string
	// Failure is the evidence of a Fail or Restart by failure, or what broke just before a Suspend; nil otherwise.
	Failure *v1alpha1.Failure
	// Restarts are the restarts that begin now: several of scope Replica or Role, or one of scope Job.
	Restarts []failure.Restart
	// Asked is the checkpoint request to the ranks before they are stopped; nil for none.
	Asked *v1alpha1.CheckpointRequest
	// Finishing is whether ranks of a succeeded job still have time to end by themselves.
	Finishing bool
	// Expired is whether the time to live of a finished job is over.
	Expired bool
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

// Facts are what Judge finds in addition to the ruling.
type Facts struct {
	// Amendments are earlier incidents whose true cause is found now.
	Amendments []failure.Amendment
	// GivenUp are the failures of evaluators that do not run again in this attempt.
	GivenUp []failure.Restart
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
	// NoProgress describes for how long the job has made no progress; empty while it has time.
	NoProgress string
	// Unread is why the operator has not been able to read the training's page for that long; empty if it has.
	Unread string
}

// Accounts is what the status keeps of restarts.
type Accounts struct {
	// LastFailure is the failure behind the latest restart or the job's end; nil if there was none.
	LastFailure *v1alpha1.Failure
	// Incidents are the latest ones, newest first.
	Incidents []v1alpha1.Incident
	// Charges are the restarts charged to each budget, ChargedRestarts how many were in all, Budgets how much is used up.
	Charges         []v1alpha1.Charges
	ChargedRestarts int32
	Budgets         []v1alpha1.Budget
	// Until is when the oldest charge stops to count; zero if none counts, or the job has ended.
	Until time.Time
	// NodeFailures are the failures that count against nodes, AvoidedNodes the nodes that new pods avoid from now on.
	NodeFailures []v1alpha1.NodeFailures
	AvoidedNodes []v1alpha1.AvoidedNode
	// RestartsWithoutProgress is the number of charged restarts of the whole job since the last newer step.
	RestartsWithoutProgress int32
}
