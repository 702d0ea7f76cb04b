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
		o := evidence(s, &was)
		switch node, isIll := fellIll(s, &was); {
		case o != nil && !IsFatal(*o):
			is.Failure, is.Charged, ruleMade = o.Failure, o.Charged, o.RuleMade
		case isConsequence(s, &was, begun):
			is.Charged = false
		case o == nil && isIll:
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
func fellIll(s *state.Snapshot, i *v1alpha1.Incident) (n state.Node, is bool) {
	if !i.Charged || i.Explained || i.Cause != v1alpha1.CauseRetryable || !s.HeedsIllNodes() {
		return n, false
	}
	window := state.IncidentWindow(&s.Job.Spec)
	for _, n := range s.Nodes {
		after := n.Ill.Time.Sub(i.Time.Time)
		isOwn := n.Name == i.Node && after >= -window
		isAnothers := i.Scope == v1alpha1.ScopeJob && after >= -time.Second // both times are cut to the second
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
	if o := evidence(s, &s.Job.Status.Incidents[0]); o != nil && IsFatal(*o) {
		return o
	}
	return nil
}

// evidence returns what the pods that the incident ended say of its true cause, as far as it was not known; nil for
// nothing. A loss beats an earlier exit.
func evidence(s *state.Snapshot, i *v1alpha1.Incident) *Incident {
	if i.Explained && !i.Charged || IsLoss(i.Cause) || i.Cause == v1alpha1.CauseRequested || i.Role == v1alpha1.Evaluator {
		return nil
	}
	var best *Incident
	for n := range s.Pods {
		p := &s.Pods[n]
		if !isEndedBy(s, i, p) || wasReplacedBefore(s, i, n) {
			continue
		}
		o := told(s, i, p)
		switch {
		case o == nil:
		case explainsFailure(s, &o.Failure, i.Time.Add(-time.Second)): // before it: to the second, nobody knows which was first
			return o
		case isTrueExit(s, i, p, o.Cause) && (best == nil || o.Time.Before(&best.Time)):
			best = o
		}
	}
	return best
}

// told returns what a pod that the incident ended tells that was not known when the restart was ordered; nil for nothing.
func told(s *state.Snapshot, i *v1alpha1.Incident, p *state.Pod) *Incident {
	ended := asEnded(s, i, p)
	if ended.Exit == nil && !wasTakenAway(s, &ended) { // it is only on its way out
		return nil
	}
	o := NewIncident(s, ofPod(s, &ended), i.Scope, p)
	if o.Reason == v1alpha1.ReasonDeleted || wasToldToEnd(p) && ReasonOf(o.Reason).isForgotten { // what it had done by then nobody knows
		return nil
	}
	return &o
}

// wasToldToEnd reports whether the pod's process was told to end: for good, or to make room for another one in the pod.
func wasToldToEnd(p *state.Pod) bool { return p.Left || !p.Deleted.IsZero() }

// asEnded returns the pod as it would be had the restart not deleted it, and had nobody come for it after it had exited: what
// comes of that is no evidence, nor when. Finished pods are tainted and drained like others.
func asEnded(s *state.Snapshot, i *v1alpha1.Incident, p *state.Pod) state.Pod {
	q := *p
	if !p.Deleted.Before(i.RestartTime.Time) {
		q.Deleted = time.Time{}
	}
	if p.Exit != nil && !isInTime(s, p.Disruption.Reason, p.Disruption.Time, i.Time.Time) {
		q.Disruption = state.Trouble{}
	}
	return q
}

// isEndedBy reports whether the pod's life was ended by the incident, and nothing of it is known yet.
func isEndedBy(s *state.Snapshot, i *v1alpha1.Incident, p *state.Pod) bool {
	if p.Life.Attempt != int(i.Attempt) || !s.IsPast(p) || !s.InRange(p.Slot) || isKnown(s, i, p) {
		return false
	}
	if !p.HasStarted() && !s.IsLost(p) {
		return false
	}
	switch i.Scope {
	case v1alpha1.ScopeJob:
		return p.Slot.Role != v1alpha1.Evaluator && int(i.Attempt) < int(s.Job.Status.Attempt)
	case v1alpha1.ScopeRole:
		present := s.Life(p.Slot)
		return p.Slot.Role == i.Role && p.Life.Attempt == present.Attempt && p.Life.Replacement == present.Replacement-1
	default:
		return p.Name == i.Pod
	}
}

// wasReplacedBefore reports whether the n-th pod's replica was in another life when the incident restarted the whole job: its own incident
// may not be listed any more. A pod of that life is there, or the operator had taken the n-th out of the Service and deleted it.
func wasReplacedBefore(s *state.Snapshot, i *v1alpha1.Incident, n int) bool {
	p := &s.Pods[n]
	if i.Scope != v1alpha1.ScopeJob || p.Name == i.Pod {
		return false
	}
	if n+1 < len(s.Pods) && s.Pods[n+1].Slot == p.Slot && s.Pods[n+1].Life.Attempt == p.Life.Attempt {
		return true
	}
	return p.Fenced && !p.Deleted.IsZero() && p.Deleted.Before(i.RestartTime.Time)
}

// isKnown reports whether another incident began with the pod.
func isKnown(s *state.Snapshot, i *v1alpha1.Incident, p *state.Pod) bool {
	return slices.ContainsFunc(s.Job.Status.Incidents, func(other v1alpha1.Incident) bool {
		return other.Pod == p.Name && other.Pod != i.Pod && other.Attempt == i.Attempt
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
func isTrueExit(s *state.Snapshot, i *v1alpha1.Incident, p *state.Pod, cause v1alpha1.Cause) bool {
	if p.Exit == nil {
		return false
	}
	ended := p.Exit.Time.Truncate(time.Second)
	follows := i.Cause == v1alpha1.CauseRetryable && !isKill(&i.Failure)
	inSameSecond := ended.Equal(i.Time.Truncate(time.Second))
	switch {
	case p.Exit.Reason == outOfMemory:
		return follows && !ended.After(i.Time.Add(time.Second))
	case inSameSecond && killedBy(p.Exit.Code):
		return follows
	case inSameSecond:
		return follows && (cause == i.Cause || cause == v1alpha1.CauseFatal) && exitCode(&i.Failure) == 1 && isOneOfAKind(s, p)
	default:
		return ended.Before(i.Time.Time) && !wasToldToEnd(p)
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
func isConsequence(s *state.Snapshot, i *v1alpha1.Incident, begun []Incident) bool {
	if len(begun) == 0 || begun[0].Scope != v1alpha1.ScopeJob {
		return false
	}
	return i.Charged && !i.Explained && i.Attempt == s.Job.Status.Attempt && i.Scope != v1alpha1.ScopeJob &&
		explainsFailure(s, &begun[0].Failure, i.Time.Time)
}
