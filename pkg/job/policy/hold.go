package policy

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// holds delay the ruling on a failure. Each returns nil if it does not, and otherwise when the delay ends. They are applied in this order,
// and the first that delays the ruling wins.
var holds = []func(*state.Snapshot, *Ruling) (held *Ruling, until time.Time){waitForStart, waitForPeers, waitForKubelet, waitForLoss, waitForCheckpoint}

// holdUntil returns the ruling that holds the one on the failure until then, and why; nil once the time has passed.
func holdUntil(s *state.Snapshot, until time.Time, f *v1alpha1.Failure, why string) (*Ruling, time.Time) {
	if !s.Now.Before(until) {
		return nil, time.Time{}
	}
	return &Ruling{Kind: Hold, Reason: v1alpha1.ReasonRestartHeld, Message: failure.WithMessage(f, failure.Describe(f)+"; "+why)}, until
}

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
		if deadline := startupDeadline(s); deadline.IsZero() || s.Now.Before(deadline) {
			f := &ruling.Restarts[n].Failure
			return &Ruling{Kind: Hold, Reason: v1alpha1.ReasonRestartHeld, Message: failure.WithMessage(f,
				fmt.Sprintf("%s; the restart waits for %s, which is still starting on %s.", failure.Describe(f), r.Slot, startsOn(r.Pod)))}, deadline
		}
	}
	return nil, time.Time{}
}

// stillStarting returns a member that is still starting and that would restart, too; nil if there is none.
func stillStarting(s *state.Snapshot, restart *failure.Restart) *state.Replica {
	if restart.Scope == v1alpha1.ScopeReplica {
		return nil
	}
	return s.First(func(r *state.Replica) bool {
		isMember := restart.Scope == v1alpha1.ScopeRole || state.IsNeeded(r.Slot.Role)
		return isMember && failure.Covers(&restart.Incident, r.Slot) && r.State == state.Starting
	})
}

// startsOn returns the pod's node and, once its kubelet reports why it does not run yet, the reason.
func startsOn(pod *state.Pod) string {
	if pod.Waiting.Reason == "" {
		return pod.Node
	}
	return fmt.Sprintf("%s (%s)", pod.Node, pod.Waiting.Reason)
}

// gatherFor is how long the ruling waits for the exits of a rank's peers, from the second in which the first rank exited. All
// ranks of a collective end when one does, and kubelets check their containers once a second. In 57 recorded incidents on
// real kubelets the exit of the guilty rank arrived after 1.15 s (median) and 2.08 s (maximum).
const gatherFor = 2500 * time.Millisecond

// waitForPeers holds a ruling on an exit that may be a follower's until the replicas have ended that the rank may have followed: the other ranks
// of a collective, and the parameter servers. Otherwise the wrong replica would be named, charged, and kept for its log. It does not wait after
// a kill or an out-of-memory exit, because followers do not end that way, nor once every such replica has ended. A rank that starts may have
// ended as well: its kubelet reports no container until the postStart hook is over. Once a rank of a collective has succeeded, it waits after
// every exit: programs crash at teardown too, and the leader's success may arrive a moment later.
func waitForPeers(s *state.Snapshot, ruling *Ruling) (held *Ruling, until time.Time) {
	f := ruling.Failure
	if f == nil || !hasPeer(s, "") {
		return nil, time.Time{}
	}
	isTeardown := failure.IsOfRank(f) && s.Any(func(r *state.Replica) bool {
		return state.IsMember(&s.Job.Spec, r.Slot.Role) && r.State == state.Succeeded
	})
	if !isTeardown && !failure.MayBeFollower(f) {
		return nil, time.Time{}
	}
	return holdUntil(s, failure.AwaitedFrom(s, f, gatherFor).Add(gatherFor+failure.LateCulprit(f)), f, "the job waits a moment for the exits of its peers.")
}

// hasPeer reports whether a replica runs or starts on another node whose end would explain the end of a rank: another rank of a collective, or a
// parameter server.
func hasPeer(s *state.Snapshot, node string) bool {
	return s.Any(func(r *state.Replica) bool {
		isPeer := r.Slot.Role == v1alpha1.PS || state.IsMember(&s.Job.Spec, r.Slot.Role)
		return isPeer && (r.State == state.Running || r.State == state.Starting) && r.Pod.Node != node
	})
}

// waitForKubelet holds a ruling that would delete a pod while its kubelet has yet to report the rest of its end. Of a deleted pod that
// report never comes.
func waitForKubelet(s *state.Snapshot, ruling *Ruling) (held *Ruling, until time.Time) {
	r := s.First(func(r *state.Replica) bool {
		covers := func(i failure.Restart) bool { return failure.Covers(&i.Incident, r.Slot) }
		isDue := isUnexplained(r.Pod) && s.Now.Before(r.Pod.EndSeen.Add(state.ExplainedWithin))
		return isDue && (ruling.Kind == Fail || slices.ContainsFunc(ruling.Restarts, covers))
	})
	if r == nil {
		return nil, time.Time{}
	}
	return holdUntil(s, r.Pod.EndSeen.Add(state.ExplainedWithin), ruling.Failure, fmt.Sprintf("the job waits a moment for the kubelet to report why %s ended.", r.Slot))
}

// isUnexplained reports whether the kubelet has yet to report the rest of the pod's end: how its containers ended, after it called the pod Failed; or
// why the process had a request to end, if no deletion shows that. A kubelet that starts under pressure gives that reason with the phase.
func isUnexplained(p *state.Pod) bool {
	if p == nil || p.Phase != corev1.PodRunning || !p.Deleted.IsZero() || p.Left {
		return false
	}
	wasAsked := p.Exit != nil && p.Exit.Main && p.Exit.Code == 128+15 && p.Disruption.Reason == ""
	return wasAsked || p.Rejected.Reason != "" && p.Exit == nil
}

// waitForLoss holds the end of a job while the loss of a node may explain it: a rank may have followed another one, or hangs, and a replica on another node has
// not reported its own end. A lost node can show for as long as the incident window after the ranks that missed it, and nothing mends a job that has failed.
func waitForLoss(s *state.Snapshot, ruling *Ruling) (held *Ruling, until time.Time) {
	f := ruling.Failure
	if ruling.Kind != Fail || f == nil || f.Cause != v1alpha1.CauseHang && !failure.MayHaveFollowed(s, f) || !hasPeer(s, f.Node) {
		return nil, time.Time{}
	}
	until = failure.AwaitedFrom(s, f, gatherFor).Add(state.IncidentWindow(&s.Job.Spec))
	return holdUntil(s, until, f, fmt.Sprintf("the job fails at %s UTC unless the loss of a node explains it.", until.UTC().Format(time.TimeOnly)))
}

// waitForCheckpoint holds a restart of the whole job while all ranks can save a checkpoint, for example after pods were evicted.
func waitForCheckpoint(s *state.Snapshot, ruling *Ruling) (held *Ruling, until time.Time) {
	if ruling.Kind != Restart || ruling.Restarts[0].Scope != v1alpha1.ScopeJob {
		return nil, time.Time{}
	}
	return awaitCheckpoint(s, ruling.Failure.Reason, failure.Describe(ruling.Failure))
}
