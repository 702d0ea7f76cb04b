package failure

import (
	"fmt"
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Amendment is an incident whose true cause showed after the restart.
type Amendment struct {
	Was, Is v1alpha1.Incident
	// RuleMade is whether it turns out to be a loss only because a rule of recovery.rules says so.
	RuleMade bool
	// Message is a sentence for the user.
	Message string
}

// explanation tells what explains an incident (besides the failure itself there may be more), and what is given back for it.
func explanation(was, is *v1alpha1.Incident, besides string) string {
	text := fmt.Sprintf("%s%s: this explains the restart of %s.", Describe(&is.Failure), besides, is.RestartTime.UTC().Format("15:04:05 UTC"))
	if was.Charged && !is.Charged {
		text += " It is no longer charged."
	}
	return WithMessage(&is.Failure, text)
}

// Explain returns the incidents of the status whose true cause shows now: an earlier failure, or, within the incident
// window, a loss or a node that is ill. begun are those that begin now: a lost replica that takes the whole job with it
// explains those that failed for want of it.
func Explain(s *state.Snapshot, begun []Incident) []Amendment {
	var found []Amendment
	for _, was := range s.Job.Status.Incidents {
		is := was
		is.Explained = true
		ruleMade, besides := false, ""
		incident := evidence(s, &was)
		switch node, isIll := fellIll(s, &was); {
		case incident != nil && !IsFatal(*incident):
			is.Failure, is.Charged, ruleMade = incident.Failure, incident.Charged, incident.RuleMade
		case isConsequence(s, &was, begun):
			is.Charged = false
		case incident == nil && isIll:
			is.Charged = false
			besides = fmt.Sprintf(", and %s is ill (%s)", node.Name, state.Quote(node.Ill.Message))
		default:
			continue
		}
		found = append(found, Amendment{was, is, ruleMade, explanation(&was, &is, besides)})
	}
	return found
}

// fellIll returns the ill node that explains an exit that was charged, by a condition that began within the incident window: a device breaks first, and
// whoever watches it says so later. If the whole job restarted, it may be the node of any replica, by a condition that did not begin before the exit:
// ranks fail in the same second, and nobody knows which was first.
func fellIll(s *state.Snapshot, incident *v1alpha1.Incident) (n state.Node, is bool) {
	if !incident.Charged || incident.Explained || incident.Cause != v1alpha1.CauseRetryable || !s.HeedsIllNodes() {
		return n, false
	}
	window := state.IncidentWindow(&s.Job.Spec)
	for _, n := range s.Nodes {
		after := n.Ill.Time.Sub(incident.Time.Time)
		isOwn := n.Name == incident.Node && after >= -window
		isAnothers := incident.Scope == v1alpha1.ScopeJob && after >= -time.Second // both times are cut to the second
		if n.Action == state.MoveFromNode && (isOwn || isAnothers) && after <= window {
			return n, true
		}
	}
	return n, false
}

// FatalEvidence returns a failure that shows only now, came before the latest restart's, and is one that no restart can mend.
func FatalEvidence(s *state.Snapshot) *Incident {
	if len(s.Job.Status.Incidents) == 0 {
		return nil
	}
	if incident := evidence(s, &s.Job.Status.Incidents[0]); incident != nil && IsFatal(*incident) {
		return incident
	}
	return nil
}

// evidence returns what the pods that the incident ended say of its true cause, as far as it was not known; nil for
// nothing. A loss beats an earlier exit.
func evidence(s *state.Snapshot, incident *v1alpha1.Incident) *Incident {
	if incident.Explained && !incident.Charged || IsLoss(incident.Cause) || !IsFailure(incident.Cause) || incident.Role == v1alpha1.Evaluator {
		return nil
	}
	var best *Incident
	for n := range s.Pods {
		p := &s.Pods[n]
		if !isEndedBy(s, incident, p) || wasReplacedBefore(s, incident, n) {
			continue
		}
		late := lateFailure(s, incident, p)
		if late == nil {
			continue
		}
		if explainsFailure(s, &late.Failure, incident.Time.Add(-time.Second)) { // before it: to the second, which was first is not known
			return late
		}
		if isTrueExit(s, incident, p, late.Cause) && (best == nil || late.Time.Before(&best.Time)) {
			best = late
		}
	}
	return best
}

// lateFailure returns a failure that a terminated pod revealed only after the restart was decided; nil if it reveals none.
func lateFailure(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod) *Incident {
	ended := asEnded(s, incident, p)
	if ended.Exit == nil && !wasTakenAway(s, &ended) { // it is only on its way out
		return nil
	}
	late := NewIncident(s, ofPod(s, &ended), incident.Scope, p)
	if late.Reason == v1alpha1.ReasonDeleted || wasToldToEnd(p) && ReasonOf(late.Reason).isForgotten { // what it had done by then is not known
		return nil
	}
	return &late
}

// wasToldToEnd reports whether the pod's process was told to end: for good, or to make room for another one in the pod.
func wasToldToEnd(p *state.Pod) bool { return p.Left || !p.Deleted.IsZero() }

// asEnded returns the pod without the deletion and the disruption that came after its failure: neither says why it failed. A drain, for
// example, also taints and deletes pods that have finished.
//
//	exit ---------> incident ---------> restart: the operator deletes the pod ---------> now
//	       a disruption here counts if it        a deletion from here on is the
//	       explains the exit (isInTime)          operator's own
func asEnded(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod) state.Pod {
	q := *p
	if !p.Deleted.Before(incident.RestartTime.Time) {
		q.Deleted = time.Time{}
	}
	if p.Exit != nil && !isInTime(s, p.Disruption.Reason, p.Disruption.Time, incident.Time.Time) {
		q.Disruption = state.Trouble{}
	}
	return q
}

// isEndedBy reports whether the pod's life was ended by the incident, and nothing of it is known yet.
func isEndedBy(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod) bool {
	if p.Life.Attempt != int(incident.Attempt) || !s.IsPast(p) || !s.InRange(p.Slot) || isKnown(s, incident, p) {
		return false
	}
	if !p.HasStarted() && !s.IsLost(p) {
		return false
	}
	switch incident.Scope {
	case v1alpha1.ScopeJob:
		return p.Slot.Role != v1alpha1.Evaluator && int(incident.Attempt) < int(s.Job.Status.Attempt)
	case v1alpha1.ScopeRole:
		present := s.Life(p.Slot)
		return p.Slot.Role == incident.Role && p.Life.Attempt == present.Attempt && p.Life.Replacement == present.Replacement-1
	default:
		return p.Name == incident.Pod
	}
}

// wasReplacedBefore reports whether the n-th pod's replica was in another life when the incident restarted the whole job: its own incident
// may not be listed any more. A pod of that life is there, or the operator had taken the n-th out of the Service and deleted it.
func wasReplacedBefore(s *state.Snapshot, incident *v1alpha1.Incident, n int) bool {
	p := &s.Pods[n]
	if incident.Scope != v1alpha1.ScopeJob || p.Name == incident.Pod {
		return false
	}
	if n+1 < len(s.Pods) && s.Pods[n+1].Slot == p.Slot && s.Pods[n+1].Life.Attempt == p.Life.Attempt {
		return true
	}
	return p.Fenced && !p.Deleted.IsZero() && p.Deleted.Before(incident.RestartTime.Time)
}

// isKnown reports whether another incident began with the pod.
func isKnown(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod) bool {
	return slices.ContainsFunc(s.Job.Status.Incidents, func(other v1alpha1.Incident) bool {
		return other.Pod == p.Name && other.Pod != incident.Pod && other.Attempt == incident.Attempt
	})
}

// explainsFailure reports whether a loss accounts for a replica that failed at the given time: it came first, or it is
// a node's and showed within the incident window.
func explainsFailure(s *state.Snapshot, loss *v1alpha1.Failure, at time.Time) bool {
	return IsLoss(loss.Cause) && isInTime(s, loss.Reason, loss.Time.Time, at)
}

// isInTime reports whether a loss of that reason and time came soon enough to account for a failure at the given time.
func isInTime(s *state.Snapshot, reason string, lost, at time.Time) bool {
	return !lost.After(at) || ReasonOf(reason).showsLate && !lost.After(at.Add(state.IncidentWindow(&s.Job.Spec)))
}

// isTrueExit reports whether the pod failed by itself and the failure that the incident names followed it: it was earlier, or it
// says what a follower does not. A follower that lost its peer exits within the same second; the kernel may take a second to
// reap what it killed for want of memory. A pod that has been told to end since exits as its program likes, and clocks differ: what
// it exits with counts if no program does that by itself, or if others that were told to end did otherwise.
func isTrueExit(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod, cause v1alpha1.Cause) bool {
	if p.Exit == nil {
		return false
	}
	ended := p.Exit.Time.Truncate(time.Second)
	follows := incident.Cause == v1alpha1.CauseRetryable && !isKill(&incident.Failure)
	inSameSecond := ended.Equal(incident.Time.Truncate(time.Second))
	switch {
	case p.Exit.Reason == outOfMemory:
		return follows && !ended.After(incident.Time.Add(time.Second))
	case inSameSecond && killedBy(p.Exit.Code):
		return follows
	case isFirstByWords(incident, p):
		return follows && !ended.After(incident.Time.Add(followsWithin))
	case inSameSecond:
		return follows && (cause == incident.Cause || cause == v1alpha1.CauseFatal) && exitCode(&incident.Failure) == 1 && isOneOfAKind(s, p)
	default:
		return ended.Before(incident.Time.Time) && !wasToldToEnd(p)
	}
}

// isOneOfAKind reports whether the pod alone ended in its second with its exit code, which is not what followers exit with, nor what
// programs exit with that are told to end: of these another one did otherwise.
func isOneOfAKind(s *state.Snapshot, p *state.Pod) bool {
	if p.Exit.Code == 1 || state.IsSignal(p.Exit.Code) {
		return false
	}
	isOwn := !wasToldToEnd(p)
	for i := range s.Pods {
		other := &s.Pods[i]
		if other.UID == p.UID || other.Exit == nil || other.Exit.Time.Unix() != p.Exit.Time.Unix() {
			continue
		}
		if other.Exit.Code == p.Exit.Code {
			return false
		}
		isOwn = isOwn || wasToldToEnd(other) && other.Life.Attempt == p.Life.Attempt
	}
	return isOwn
}

// isConsequence reports whether a replica that failed by itself did so for want of one whose loss now restarts the whole job.
func isConsequence(s *state.Snapshot, incident *v1alpha1.Incident, begun []Incident) bool {
	if len(begun) == 0 || begun[0].Scope != v1alpha1.ScopeJob {
		return false
	}
	return incident.Charged && !incident.Explained && incident.Attempt == s.Job.Status.Attempt && incident.Scope != v1alpha1.ScopeJob &&
		explainsFailure(s, &begun[0].Failure, incident.Time.Time)
}
