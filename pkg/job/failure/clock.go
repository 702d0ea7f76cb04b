package failure

import (
	"cmp"
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// An end has times by three clocks. A node's clock orders ends best, unless it is wrong. The operator sees an end when its kubelet reports it.
//
//	SeenAt       when did the operator see it?        operator's: EndSeen
//	endedAt      when did the program end?            kubelet's: Exit.Time; operator's if that is wrong: EndSeen
//	brokeAt      when did the pod break?              the earliest of endedAt and the control plane's: Deleted, Disruption, Node.Since
//	beganAt      when did a known incident begin?     Failure.Time, which is from brokeAt; operator's if that is wrong: RestartTime
//	followedBy   by when had come what it followed?   beganAt; of a rank that lost a peer also EndSeen
//	AwaitedFrom  from when are other ends awaited?    Failure.Time; operator's if that is long before: EndSeen
const (
	// reportedWithin is how late a busy kubelet reports an end.
	reportedWithin = 5 * time.Second
	// clocksAgree is by how much a node's clock may differ from the operator's, with the time that a report takes, for its times to count.
	clocksAgree = 10 * time.Second
)

// byNode returns the time by a node's clock; the operator's time if there is one and the node's is more than ahead after it, or more than behind before it.
func byNode(nodes, operators time.Time, ahead, behind time.Duration) time.Time {
	if late := operators.Sub(nodes); !operators.IsZero() && (late < -ahead || late > behind) {
		return operators
	}
	return nodes
}

// SeenAt returns when the operator first saw the failed pod ended; zero if it has not.
func SeenAt(s *state.Snapshot, f *v1alpha1.Failure) time.Time {
	for _, pods := range [][]state.Pod{s.PodsOf(SlotOf(f)), s.Gone} {
		if i := slices.IndexFunc(pods, func(p state.Pod) bool { return p.Name == f.Pod }); i >= 0 {
			return pods[i].EndSeen
		}
	}
	return time.Time{}
}

// endedAt returns when the program ended, or the pod without an exit; zero if neither did. An operator that has just begun saw all ends at once, and then the
// nodes' clocks are better.
func endedAt(s *state.Snapshot, p *state.Pod) time.Time {
	switch {
	case p.Exit == nil:
		return state.Earliest(p.Finished, p.EndSeen)
	case s.FirstLook:
		return p.Exit.Time
	default:
		return byNode(p.Exit.Time, p.EndSeen, time.Second, clocksAgree)
	}
}

// brokeAt returns the earliest time at which the pod is known to have broken.
func brokeAt(s *state.Snapshot, p *state.Pod) time.Time {
	at := state.Earliest(p.Deleted, p.Disruption.Time, endedAt(s, p))
	if s.IsLost(p) {
		at = state.Earliest(at, s.NodeOf(p).Since)
	}
	return cmp.Or(at, s.Now)
}

// beganAt returns when the incident began. The age of an end that is decided now shows nothing about the clock, because the decision may have waited.
func beganAt(s *state.Snapshot, incident *v1alpha1.Incident) time.Time {
	if !incident.RestartTime.Time.Before(s.Now.Truncate(time.Second)) {
		return incident.Time.Time
	}
	return byNode(incident.Time.Time, incident.RestartTime.Time, time.Second, clocksAgree)
}

// followedBy returns by when had come what the end may have followed. A watchdog ends a rank a little after that. A rank that speaks of a lost peer followed
// what came before the operator saw its end, also if the clock of its node is behind.
func followedBy(s *state.Snapshot, end *v1alpha1.Incident, isSilent bool) time.Time {
	switch began := beganAt(s, end); {
	case isSilent && isAbort(&end.Failure):
		return began.Add(followsWithin)
	case wordsOf(&end.Failure) >= lostEarly:
		return state.Latest(began, SeenAt(s, &end.Failure))
	default:
		return began
	}
}

// AwaitedFrom returns the second of this end, from which other ends are awaited, if it is at most so long before the operator saw the end; else when it saw it.
func AwaitedFrom(s *state.Snapshot, f *v1alpha1.Failure, last time.Duration) time.Time {
	return byNode(f.Time.Truncate(time.Second), SeenAt(s, f), 0, last)
}
