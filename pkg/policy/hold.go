package policy

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// hold delays the ruling on a failure. It returns nil if it does not delay the ruling. until is when the delay ends.
type hold func(*state.Snapshot, *Ruling) (held *Ruling, until time.Time)

// holds are applied in this order. The first that delays the ruling wins.
var holds = []hold{waitForStart, waitForPeers, waitForCheckpoint}

// waitForStart holds a restart while another member of the attempt is still starting. Impatient ranks must not end an attempt
// that never ran: a slow image would restart the job for ever. The wait ends at startupDeadlineSeconds, or when a user requests a
// restart.
func waitForStart(s *state.Snapshot, ruling *Ruling) (held *Ruling, until time.Time) {
	if ruling.Kind != Restart || s.Is(v1alpha1.ConditionRunning) || s.RestartRequest() != nil {
		return nil, time.Time{}
	}
	for n := range ruling.Restarts {
		r := stillStarting(s, &ruling.Restarts[n])
		if r == nil {
			continue
		}
		if deadline := startupDeadline(s, r.Slot); deadline.IsZero() || s.Now.Before(deadline) {
			return &Ruling{Kind: Hold, Reason: v1alpha1.ReasonRestartHeld, Message: failure.WithMessage(&ruling.Restarts[n].Failure, fmt.Sprintf(
				"%s; the restart waits for %s, which is still starting (%s).", failure.Describe(&ruling.Restarts[n].Failure), r.Slot, r.Pod.Waiting.Reason))}, deadline
		}
	}
	return nil, time.Time{}
}

// stillStarting returns a member that is still starting and that the incident would restart; nil if there is none.
func stillStarting(s *state.Snapshot, incident *failure.Incident) *state.Replica {
	if incident.Scope == v1alpha1.ScopeReplica {
		return nil
	}
	return s.First(func(r *state.Replica) bool {
		isMember := incident.Scope == v1alpha1.ScopeJob && r.Slot.Role != v1alpha1.Evaluator || incident.Scope == v1alpha1.ScopeRole && r.Slot.Role == incident.Role
		return isMember && r.State == state.Starting
	})
}

const (
	// gatherFor is how long the ruling waits for the other ranks' exits, from the second in which the first rank exited. All
	// ranks of a collective end when one does, and kubelets check their containers once a second. In 57 recorded incidents on
	// real kubelets the exit of the guilty rank arrived after 1.15 s (median) and 2.08 s (maximum).
	gatherFor = 2500 * time.Millisecond
	// clocksDiffer is how far a node's clock may be ahead.
	clocksDiffer = time.Second
)

// waitForPeers holds a ruling on an exit that may be a follower's until the other ranks have ended. Otherwise the wrong rank
// would be named, charged, and kept for its log. It does not wait after a kill or an out-of-memory exit, because followers do not
// end that way, nor once every rank has ended. A rank that starts may have ended as well: its kubelet reports no container until the
// postStart hook is over. Once a rank has succeeded, it waits after every exit: programs crash at teardown
// too, and the leader's success may arrive a moment later.
func waitForPeers(s *state.Snapshot, ruling *Ruling) (held *Ruling, until time.Time) {
	f := ruling.Failure
	if f == nil || !state.IsCollective(&s.Job.Spec) || !hasRank(s, state.Running) && !hasRank(s, state.Starting) {
		return nil, time.Time{}
	}
	if isTeardown := failure.IsOfRank(f) && hasRank(s, state.Succeeded); !isTeardown && !failure.MayBeFollower(f) {
		return nil, time.Time{}
	}
	until = f.Time.Truncate(time.Second).Add(gatherFor)
	if !s.Now.Before(until) || f.Time.After(s.Now.Add(clocksDiffer)) {
		return nil, time.Time{}
	}
	return &Ruling{Kind: Hold, Reason: v1alpha1.ReasonRestartHeld, Message: failure.WithMessage(f, fmt.Sprintf(
		"%s; the job waits a moment for the exits of the other ranks.", failure.Describe(f)))}, until
}

func hasRank(s *state.Snapshot, is state.State) bool {
	return s.Any(func(r *state.Replica) bool { return state.IsRank(r.Slot.Role) && r.State == is })
}

// waitForCheckpoint holds a restart of the whole job while all ranks can save a checkpoint, for example after pods were evicted.
func waitForCheckpoint(s *state.Snapshot, ruling *Ruling) (held *Ruling, until time.Time) {
	if ruling.Kind != Restart || ruling.Restarts[0].Scope != v1alpha1.ScopeJob {
		return nil, time.Time{}
	}
	return awaitCheckpoint(s, stop{reason: ruling.Failure.Reason, why: failure.Describe(ruling.Failure)})
}
