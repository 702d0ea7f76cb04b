package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// closesWithin is how long after the begin of its life the gate of a pod may stay open while other replicas start.
const closesWithin = time.Minute

// setGates returns the steps that close the gates of pods whose process was seen: when it ends, the kubelet starts no other one before the operator
// has decided, and none in a job that has finished. While the job starts its other pods come first, and gates can wait until wake; zero if none does.
// The steps also open a gate that was closed late, by an operator that saw the process before: none would start.
func setGates(s *state.Snapshot) (steps []Step, wake time.Time) {
	mayWait := startsWell(s)
	for i := range s.Pods {
		p := &s.Pods[i]
		switch {
		case !p.Gated || !p.CanRun() || s.IsPast(p) || !p.Deleted.IsZero() || s.IsLost(p):
		case isToClose(p) && mayWait && s.Now.Before(p.Created.Add(closesWithin)):
			wake = state.Earliest(wake, p.Created.Add(closesWithin))
		case isToClose(p):
			steps = append(steps, SetGate{Name: p.Name, UID: p.UID, Value: v1alpha1.GateClosed})
		case !p.Open && p.Restarting && !s.IsFinished():
			steps = append(steps, SetGate{Name: p.Name, UID: p.UID, Version: p.Version, Value: v1alpha1.GateOpen})
		}
	}
	return steps, wake
}

// isToClose reports whether the gate is open although the process of the pod's present life was seen.
func isToClose(p *state.Pod) bool { return p.Open && !p.Restarting && (!p.Began.IsZero() || p.Waits) }

// startsWell reports whether replicas are still to run, and none has broken.
func startsWell(s *state.Snapshot) bool {
	starts := func(r *state.Replica) bool { return r.State <= state.Starting } // Missing, Pending, or Starting
	return !s.IsFinished() && s.Any(starts) && !s.Any((*state.Replica).IsBroken)
}

// endWaiting returns the steps that end the pods whose process has ended and that begin no other life: they would hold their nodes until the job is
// deleted. stays are those that begin one, and others are the steps so far: what they delete ends by that.
func endWaiting(s *state.Snapshot, stays map[types.UID]bool, others []Step) []Step {
	deleted := map[types.UID]bool{}
	for _, step := range others {
		if d, is := step.(DeletePod); is {
			deleted[d.UID] = true
		}
	}
	var steps []Step
	for i := range s.Pods {
		p := &s.Pods[i]
		r := s.Replica(p.Slot)
		isOut := s.IsFinished() || s.IsResting() || s.IsPast(p) || r != nil && r.State == state.GivenUp
		if p.Waits && isOut && !stays[p.UID] && !deleted[p.UID] && p.Deleted.IsZero() && !s.IsLost(p) {
			steps = append(steps, EndPod{Name: p.Name, UID: p.UID, Version: p.Version})
		}
	}
	return steps
}
