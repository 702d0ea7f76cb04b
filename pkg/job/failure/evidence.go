package failure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Amendment is an incident whose true cause showed after the restart.
type Amendment struct {
	Was, Is v1alpha1.Incident
	// RuleMade is whether only a rule of recovery.rules makes it a loss.
	RuleMade bool
	// Message is a sentence for the user.
	Message string
}

// explanation returns a sentence with what explains the incident, and whether its charge is refunded. besides is a clause with further
// evidence, and what that does.
func explanation(was, is *v1alpha1.Incident, besides string) string {
	text := fmt.Sprintf("%s%s explains the restart of %s.", Describe(&is.Failure), besides, is.RestartTime.UTC().Format("15:04:05 UTC"))
	if was.Charged && !is.Charged {
		text += " It is no longer charged."
	}
	return WithMessage(&is.Failure, text)
}

// Explain returns the incidents of the status whose true cause shows now: an earlier failure, or, within the incident window, a loss or an
// unhealthy node. begun are the incidents that begin now. They explain the replicas that failed because they missed one that is lost, or within
// seconds of one that restarts the whole job.
func Explain(s *state.Snapshot, begun []Restart) []Amendment {
	var found []Amendment
	for _, was := range s.Job.Status.Incidents {
		is := was
		is.Explained = true
		ruleMade, besides := false, ": this"
		first, cause := evidence(s, &was), causedBy(s, &was, begun)
		switch node, isUnhealthy := becameUnhealthy(s, &was); {
		case first != nil && !IsFatal(*first):
			is.Failure, is.Charged, ruleMade = first.Failure, was.Charged && first.Charged, first.RuleMade
		case cause != nil:
			is.Charged = false
			besides = fmt.Sprintf(" about when %s broke: that", SlotOf(&cause.Failure))
		case first == nil && isUnhealthy:
			is.Charged = false
			besides = fmt.Sprintf(", and %s is unhealthy (%s): this", node.Name, state.Quote(node.Unhealthy.Message))
		default:
			continue
		}
		found = append(found, Amendment{was, is, ruleMade, explanation(&was, &is, besides)})
	}
	return found
}

// becameUnhealthy returns the unhealthy node that explains a charged exit, or a hang of a rank that its stacks show. Its condition began within the incident
// window, as a monitor reports late. After a restart of the whole job it may be the node of any replica, if the condition did not begin before the exit.
func becameUnhealthy(s *state.Snapshot, incident *v1alpha1.Incident) (n state.Node, is bool) {
	isHang := incident.Cause == v1alpha1.CauseHang && incident.Node != ""
	if !incident.Charged || incident.Explained || incident.Cause != v1alpha1.CauseRetryable && !isHang || !s.AvoidsUnhealthyNodes() {
		return n, false
	}
	window := state.IncidentWindow(&s.Job.Spec)
	for _, n := range s.Nodes {
		after := n.Unhealthy.Time.Sub(incident.Time.Time)
		isOwn := n.Name == incident.Node && after >= -window
		isAnothers := !isHang && incident.Scope == v1alpha1.ScopeJob && after >= -time.Second // both times are cut to the second
		if n.Action == state.BlameNode && (isOwn || isAnothers) && after <= window {
			return n, true
		}
	}
	return n, false
}

// FatalEvidence returns a failure that no restart can mend, that shows only now and came before the failure of the latest restart; nil if
// there is none. A rank that speaks of a lost peer is none: it followed a rank that does not show.
func FatalEvidence(s *state.Snapshot) *Restart {
	if len(s.Job.Status.Incidents) == 0 {
		return nil
	}
	if first := evidence(s, &s.Job.Status.Incidents[0]); first != nil && IsFatal(*first) && wordsOf(&first.Failure) < lostEarly {
		return first
	}
	return nil
}

// evidence returns the true cause of the incident, if another one is the first of all ends that show by now; else nil.
func evidence(s *state.Snapshot, incident *v1alpha1.Incident) *Restart {
	if incident.Explained && !incident.Charged || IsLoss(incident.Cause) || !IsFailure(incident.Cause) || IsApart(&s.Job.Spec, incident.Role) {
		return nil
	}
	ends := []Restart{{Incident: *incident}}
	ends[0].Time.Time = state.Earliest(incident.Time.Time, beganAt(s, incident)) // by a clock that is ahead, everything came before it
	for _, pods := range [][]state.Pod{s.Pods, s.Gone} {
		for n := range pods {
			late, isOwn := lateFailure(s, incident, &pods[n]), pods[n].Name == incident.Pod
			switch {
			case late == nil, incident.Reason == evicted && IsLoss(late.Cause) && !isOwn: // its kubelet gave the reason
				continue
			case isOwn: // it is the same end
				late.Time = ends[0].Time
			}
			ends = append(ends, *late)
		}
	}
	first := First(s, ends)
	first.Alike = alike(ends, &first.Failure)
	if first.Pod == incident.Pod && first.Cause == incident.Cause {
		return nil
	}
	return first
}

// lateFailure returns a failure of the incident that the pod shows only after the restart was decided; nil if it shows none.
func lateFailure(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod) *Restart {
	ended := asEnded(s, incident, p)
	if isOnlyDeleted(s, &ended) || !isEndedBy(s, incident, p) || wasReplacedBefore(s, incident, p) {
		return nil
	}
	late := NewRestart(s, ofPod(s, &ended), ScopeOf(&s.Job.Spec, p.Slot), &ended)
	isExit := IsOfProgram(&late.Failure) || late.RuleMade && p.Exit != nil // of an eviction it may be missing
	isAlone := wentAlone(s, incident, &late)
	late.Scope = incident.Scope
	if isNoNews(incident, &late, p) || isAlone || beganLater(incident, late.Reason, p) || isExit && !endedItself(incident, &late, p) {
		return nil
	}
	return &late
}

// isNoNews reports whether the incident knows the end, whatever the kubelet has lost since, or whether what the pod did before is unknown.
func isNoNews(incident *v1alpha1.Incident, late *Restart, p *state.Pod) bool {
	isForgotten := ReasonOf(late.Reason).IsForgotten
	isKnown := p.Name == incident.Pod && incident.ExitCode != nil && (IsOfProgram(&late.Failure) || late.RuleMade || isForgotten)
	return isKnown || late.Reason == v1alpha1.ReasonDeleted || wasToldToEnd(p) && isForgotten
}

// beganLater reports whether the pod was drained or preempted after the restart. The condition of a lost node or device comes late.
func beganLater(incident *v1alpha1.Incident, reason string, p *state.Pod) bool {
	return p.Disruption.Reason == reason && !ReasonOf(reason).showsLate && p.Disruption.Time.After(incident.RestartTime.Time)
}

func isOnlyDeleted(s *state.Snapshot, p *state.Pod) bool {
	_, wasTaken := takenAway(s, p)
	return p.Exit == nil && !wasTaken && !wasEvicted(p)
}

// wentAlone reports whether the late end is of a replica that restarts alone, as the others train on without it, and the incident restarted the job.
func wentAlone(s *state.Snapshot, incident *v1alpha1.Incident, late *Restart) bool {
	return late.Scope != v1alpha1.ScopeJob && incident.Scope == v1alpha1.ScopeJob && !state.IsMember(&s.Job.Spec, late.Role)
}

// endedItself reports whether the program ended before the restart, with which the operator ends all others. In a pod with a request to end it has to
// end more than a second before, because clocks differ, and not long before, because then a clock is wrong; and not as a request ends programs, nor
// beside a hang or a deadline, before which all ranks ran. A deletion ends no program by a lack of memory, and no kubelet evicts what has ended.
func endedItself(incident *v1alpha1.Incident, late *Restart, p *state.Pod) bool {
	before := incident.RestartTime.Sub(p.Exit.Time.Truncate(time.Second))
	isBefore := before > time.Second && before <= clocksAgree && incident.ExitCode != nil && !isByRequest(incident, late, p)
	return !wasToldToEnd(p) || p.Exit.Reason == outOfMemory || wasEvicted(p) || isBefore
}

// isByRequest reports whether the program may have ended because it got a request to, whatever its time: by SIGTERM; as followers end, without a word,
// beside an end that followed nothing; or by any code but one of its own, if its kubelet showed it late or its clock is slow.
func isByRequest(incident *v1alpha1.Incident, late *Restart, p *state.Pod) bool {
	f, isLate := &late.Failure, !p.EndSeen.IsZero() && p.EndSeen.Sub(p.Exit.Time) > reportedWithin
	byTerm := p.Exit.Code == 128+15 || strings.Contains(p.Exit.Message, "Signal 15 (SIGTERM)") // which an agent of torchrun shows of its ranks
	isOwn := !hasFollowersCode(f) && !isKill(f)
	isFollower := isSilent(f) && !isAbort(f) && !hasFollowersCode(&incident.Failure)
	return byTerm || isFollower || isLate && !isOwn
}

// wasToldToEnd reports whether the pod's process got a request to end: by a deletion, or for another process in the same pod.
func wasToldToEnd(p *state.Pod) bool { return p.Left || !p.Deleted.IsZero() }

// asEnded returns the pod without the deletion, the disruption and the loss of its node that came after its failure: none is its cause. A drain, for
// example, also marks and deletes pods that have finished.
//
//	exit ---------> incident ---------> restart: the operator deletes the pod ---------> now
//	       a disruption here counts if it        a deletion from here on is the
//	       explains the exit (isInTime)          operator's own
func asEnded(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod) state.Pod {
	q := *p
	if !p.Deleted.Before(incident.RestartTime.Time) {
		q.Deleted = time.Time{}
	}
	if p.Exit == nil {
		return q
	}
	if !isInTime(s, p.Disruption.Reason, p.Disruption.Time, beganAt(s, incident)) {
		q.Disruption = state.Trouble{}
	}
	if node := s.NodeOf(p); !isInTime(s, node.Loss.Reason, node.Since, beganAt(s, incident)) { // a side-car ran until then
		q.Phase = corev1.PodFailed
	}
	return q
}

// isEndedBy reports whether the incident ended the pod's life, and no other incident began with the pod.
func isEndedBy(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod) bool {
	if p.Life.Attempt != int(incident.Attempt) || !s.IsPast(p) || !s.InRange(p.Slot) || beganAnother(s, incident, p) || !hadProcess(s, p) {
		return false
	}
	switch incident.Scope {
	case v1alpha1.ScopeJob:
		return !IsApart(&s.Job.Spec, p.Slot.Role) && incident.Attempt < s.Job.Status.Attempt
	case v1alpha1.ScopeRole:
		present, since := s.Life(p.Slot), 1
		for n := range s.Job.Status.Incidents { // each began another life since
			if other := &s.Job.Status.Incidents[n]; other.RestartTime.After(incident.RestartTime.Time) && Covers(other, p.Slot) {
				since++
			}
		}
		return p.Slot.Role == incident.Role && p.Life.Attempt == present.Attempt && p.Life.Replacement == present.Replacement-since
	default:
		return isOf(incident, p)
	}
}

// isOf reports whether the incident began with the pod in its present life.
func isOf(incident *v1alpha1.Incident, p *state.Pod) bool {
	return incident.Pod == p.Name && int(incident.Attempt) == p.Life.Attempt && int(incident.Replacement) == p.Life.Replacement
}

// hadProcess reports whether what ended the pod may have ended a process: it had begun, and had not ended by itself long before.
func hadProcess(s *state.Snapshot, p *state.Pod) bool {
	wasOver := p.Left && !p.FormerEnded.IsZero() && (p.EndSeen.IsZero() || p.EndSeen.Sub(p.FormerEnded) > state.ExplainedWithin)
	return (p.HasStarted() || s.IsLost(p)) && !wasOver
}

// wasReplacedBefore reports whether the pod's replica was in a later life when the incident restarted the whole job. The status may no longer list
// the incident of that replica. Either a pod of the later life exists, or the operator had fenced and deleted this one, or it followed an earlier failure.
func wasReplacedBefore(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod) bool {
	if incident.Scope != v1alpha1.ScopeJob || p.Name == incident.Pod {
		return false
	}
	isLater := func(other state.Pod) bool { return other.Life.Attempt == p.Life.Attempt && p.Life.Before(other.Life) }
	wasFenced := p.Fenced && !p.Deleted.IsZero() && p.Deleted.Before(incident.RestartTime.Time)
	return wasFenced || slices.ContainsFunc(s.PodsOf(p.Slot), isLater) || followedEarlier(s, incident, p)
}

// followedEarlier reports whether the pod ended before an earlier restart of the same attempt that took other replicas with it: it was one of them.
func followedEarlier(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod) bool {
	return p.Exit != nil && slices.ContainsFunc(s.Job.Status.Incidents, func(other v1alpha1.Incident) bool {
		isEarlier := other.Attempt == incident.Attempt && other.RestartTime.Before(&incident.RestartTime)
		return isEarlier && other.Followers > 0 && other.Scope != v1alpha1.ScopeJob && p.Exit.Time.Before(other.RestartTime.Time)
	})
}

func beganAnother(s *state.Snapshot, incident *v1alpha1.Incident, p *state.Pod) bool {
	return slices.ContainsFunc(s.Job.Status.Incidents, func(other v1alpha1.Incident) bool {
		return isOf(&other, p) && !isOf(incident, p)
	})
}

// explainsFailure reports whether the loss explains a replica that failed at that time: it came first, or it is the loss of a node that
// showed within the incident window.
func explainsFailure(s *state.Snapshot, loss *v1alpha1.Failure, at time.Time) bool {
	return IsLoss(loss.Cause) && isInTime(s, loss.Reason, loss.Time.Time, at)
}

// isInTime reports whether a loss with that reason and time came soon enough to explain a failure at the given time.
func isInTime(s *state.Snapshot, reason string, lost, at time.Time) bool {
	return !lost.After(at) || ReasonOf(reason).showsLate && !lost.After(at.Add(state.IncidentWindow(&s.Job.Spec)))
}

// causedBy returns the restart that begins now to which the end of the incident belongs; nil if there is none. The end missed a replica that is
// lost, or it came within seconds of one that restarts the whole job.
func causedBy(s *state.Snapshot, incident *v1alpha1.Incident, begun []Restart) *Restart {
	if !incident.Charged || incident.Explained || incident.Attempt != s.Job.Status.Attempt || incident.Scope == v1alpha1.ScopeJob {
		return nil
	}
	for n := range begun {
		isWhole := begun[n].Scope == v1alpha1.ScopeJob
		missedIt := (isWhole || arePeers(s, begun[n].Role, incident.Role)) && explainsFailure(s, &begun[n].Failure, beganAt(s, incident))
		if missedIt || isWhole && isPart(s, &begun[n], incident) {
			return &begun[n]
		}
	}
	return nil
}
