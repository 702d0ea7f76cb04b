package policy

import (
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// Kind is what becomes of a job.
type Kind int

// The kinds of rulings.
const (
	// Continue: nothing changes the job's life; its pods converge to its status.
	Continue Kind = iota
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

// Ruling is the answer of one rule: what becomes of the job, and why.
type Ruling struct {
	Kind Kind
	// Reason is a condition reason of the API; Message a sentence for the user.
	Reason  string
	Message string
	// Failure is the evidence of a Fail or Restart by failure; nil otherwise.
	Failure *v1alpha1.Failure
	// Restarts are the incidents that begin now: several of scope Replica or Role, or one of scope Job.
	Restarts []failure.Incident
	// Asked is the request to the ranks before they are stopped; nil without one.
	Asked *v1alpha1.CheckpointRequest
	// Finishing is whether ranks of a job that has succeeded still have time to end by themselves.
	Finishing bool
	// Expired is whether the time to live of a finished job is over.
	Expired bool
}

// Facts are what Judge finds besides, whichever rule has answered.
type Facts struct {
	// Amendments are earlier incidents whose true cause shows now.
	Amendments []failure.Amendment
	// GivenUp are the failures of evaluators that are not run again in this attempt.
	GivenUp []failure.Incident
	// Park and Unpark are the workers of an elastic job that get no pod from now on, or get one again.
	Park, Unpark []state.Slot
	// Calm are the slots whose next restart is the first in a row; Settled those whose NextStart matters no more.
	Calm, Settled []state.Slot
	// Accounts is what the status keeps of restarts.
	Accounts Accounts
	// Avoided are the nodes to which pods created now prefer all others.
	Avoided []string
	// NotRunning is the lowest-ranked replica that is not running; nil if all run. BlocksRunning is the first one that the job cannot run
	// without.
	BlocksRunning, NotRunning *state.Replica
	// Stalled is for how long the job has made no progress; empty while it has time.
	Stalled string
	// Scopes say by role what is restarted when a replica of it breaks. For elastic workers it is the scope of replica 1, as replica
	// 0 can host their rendezvous.
	Scopes map[v1alpha1.Role]v1alpha1.RestartScope
}

// Verdict is all that is decided in one reconcile: the ruling, and the facts that the plan needs besides.
type Verdict struct {
	Ruling
	Facts
	// Wake is when to judge again although nothing else happens; zero for never.
	Wake time.Time
}

// GoesOn reports whether the pods of the job converge to its status: nothing changes its life, at least for now.
func (v *Verdict) GoesOn() bool { return v.Kind == Continue || v.Kind == Hold }
