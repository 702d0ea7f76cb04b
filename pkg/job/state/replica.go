package state

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Replica is one row of a Snapshot: a slot of the job in its present life.
type Replica struct {
	Slot Slot
	Life Life
	// Pod is the pod of the present life; nil if there is none.
	Pod *Pod
	// Last is the last version that was seen of the pod of a replica that has none any more; nil if none was seen on a node.
	Last *Pod
	// State is how the replica is.
	State State
	// FormerCanAct is whether a pod of a former life can still act: the present life begins after it.
	FormerCanAct bool
}

// State is how a replica is in its present life.
type State int

// The states. A replica is in exactly one of them.
const (
	// Missing: it has no pod, and had none that ran: one is to be created.
	Missing State = iota
	// Pending: its pod has no node.
	Pending
	// Starting: its pod has a node and does not run yet, or restarts in place.
	Starting
	// Ending: its pod was deleted before it ran, or may have begun its life unseen. There is no incident: it gets its next life.
	Ending
	// Running: its pod runs.
	Running
	// Succeeded: it has exited with code 0, and that counts.
	Succeeded
	// Failed: its pod has ended without success, or was deleted after it had started.
	Failed
	// Lost: its pod has not finished, and its node is lost.
	Lost
	// Vanished: its pod ran and is gone, and the operator did not delete it.
	Vanished
	// GivenUp: it has failed for good and is not run again in this attempt; the job goes on.
	GivenUp
)

var states = []string{
	"Missing", "Pending", "Starting", "Ending", "Running", "Succeeded", "Failed", "Lost", "Vanished", "GivenUp",
}

// String returns the state's name.
func (c State) String() string { return states[c] }

// stateOf is the only place that derives the state of a replica. The memory wins over the observation: a succeeded pod may be cleaned up,
// and a given-up one may stay.
func (s *Snapshot) stateOf(r *Replica) State {
	m, i := s.Memory[r.Slot.Role], r.Slot.Index
	switch {
	case m.Succeeded.Has(i):
		return Succeeded
	case m.GivenUp.Has(i):
		return GivenUp
	case r.Pod != nil:
		return s.stateByPod(r)
	case m.Started.Has(i) && !s.IsFinished():
		return Vanished
	case s.missed[r.Slot] == r.Life && r.Life != Life{}:
		return Ending
	default:
		return Missing
	}
}

// stateByPod returns the state of a replica that has a pod. The first line that fits decides.
//
//	its main container ended with 0, and that ends its work        Succeeded
//	its node or device is lost                                     Lost
//	a container ended: with 1; with 0, and is to run again         Failed
//	it was deleted: after it ran; before it ran                    Failed; Ending
//	it ended without an exit, as its kubelet rejected it           Failed
//	its process runs; ends for the one of the next life            Running; Starting
//	it has a node; has none                                        Starting; Pending
func (s *Snapshot) stateByPod(r *Replica) State {
	p := r.Pod
	wasDeleted := !p.Deleted.IsZero()
	switch {
	case p.HasSucceeded() && s.successCounts(r.Slot):
		return Succeeded
	case s.IsLost(p):
		return Lost
	case p.Exit != nil, p.HasSucceeded(), wasDeleted && s.HasRun(p):
		return Failed
	case wasDeleted:
		return Ending
	case !p.CanRun():
		return Failed
	case p.Phase == corev1.PodRunning && !p.Restarting:
		return Running
	case p.Scheduled():
		return Starting
	default:
		return Pending
	}
}

// HasRun reports whether the pod's life has run. A kubelet that rejects a pod after a reboot reports no containers; then the status remembers that
// they ran.
func (s *Snapshot) HasRun(p *Pod) bool { return p.HasStarted() || s.remembersStart(p) }

// remembersStart reports whether the status remembers that the pod's life has run. It may have run in another pod: a late request of a
// process that no longer leads can create the pod of a life a second time.
func (s *Snapshot) remembersStart(p *Pod) bool {
	m := s.Memory[p.Slot.Role]
	return m != nil && p.Life == s.Life(p.Slot) && m.Started.Has(p.Slot.Index)
}

// successCounts reports whether exit code 0 ends the slot's work. Under restartPolicy Always it does so only for those whose
// success the job waits for, and for the ranks of a collective: one that is run again alone finds no peers.
func (s *Snapshot) successCounts(slot Slot) bool {
	spec := &s.Job.Spec
	return spec.ReplicaSpecs[slot.Role].RestartPolicy != v1alpha1.RestartAlways || IsAwaited(spec, slot) || IsMember(spec, slot.Role)
}

// IsBroken reports whether the present life has ended without success.
func (r *Replica) IsBroken() bool { return r.State == Failed || r.State == Lost || r.State == Vanished }

// lacksPod reports whether the replica should have a pod and there is none.
func (r *Replica) lacksPod() bool { return r.State == Missing || r.State == Vanished }

// NeedsPod reports whether the replica should have a pod that runs.
func (r *Replica) NeedsPod() bool { return r.State != Succeeded && r.State != GivenUp }

// HasNode reports whether the replica's pod has a node.
func (r *Replica) HasNode() bool { return r.Pod != nil && r.Pod.Scheduled() }

// LacksNode reports whether the replica needs a node that it does not have.
func (r *Replica) LacksNode() bool { return r.NeedsPod() && !r.HasNode() }

// FitsNowhere reports whether the scheduler finds no node for the replica's pod.
func (r *Replica) FitsNowhere() bool {
	return r.State == Pending && r.Pod.Waiting.Reason == v1alpha1.ReasonUnschedulable && !r.Pod.Waiting.Time.IsZero()
}

// NextStart returns the time before which the present life of a restarted slot may not begin; zero if it is not known any more.
func (s *Snapshot) NextStart(slot Slot) time.Time {
	if m := s.Memory[slot.Role]; m != nil && m.NextStarts[slot.Index] > 0 {
		return time.Unix(int64(m.NextStarts[slot.Index]), 0)
	}
	return time.Time{}
}
