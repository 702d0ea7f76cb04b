package cluster

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/state"
)

// stage is how far a pod has come.
type stage int

const (
	// waiting: none of its containers runs yet.
	waiting stage = iota
	// started: its containers run.
	started
	// over: no process of it can act any more.
	over
	// gone: it does not exist any more.
	gone
)

func stageOf(p *state.Pod) stage {
	switch {
	case p == nil:
		return gone
	case !p.CanRun() || p.Fenced:
		return over
	case p.HasStarted():
		return started
	default:
		return waiting
	}
}

// News is what the change of a pod means for its job.
type News int

// What the change of a pod means.
const (
	// Unexpected: the job does not wait for it.
	Unexpected News = iota
	// MoreTrouble: it is unexpected, and a replica of the job was broken in the last reconcile.
	MoreTrouble
	// Expected: the job waits for it and, before there is more to do, for others that are to come as far.
	Expected
	// Last: no other pod has to come as far any more.
	Last
)

// awaited are the pods that a job waits for, by name, with the stage that each must reach. It is the result of the last reconcile minus
// the watch events since. If it is wrong, a reconcile comes early or late; no decision depends on it.
type awaited struct {
	pods map[string]stage
	left [gone + 1]int
	// broken is whether the last reconcile found a broken replica.
	broken bool
	// heard are the pods with an event since the present reconcile began, which may not include it.
	heard map[string]bool
}

func (a *awaited) add(pod string, reach stage) {
	a.remove(pod)
	if a.pods == nil {
		a.pods = map[string]stage{}
	}
	a.pods[pod] = reach
	a.left[reach]++
}

func (a *awaited) remove(pod string) {
	if reach, found := a.pods[pod]; found {
		a.left[reach]--
		delete(a.pods, pod)
	}
}

// Hear records that a pod of a job has changed from was to is; was is nil for a new pod, is for a deleted one.
func (c *Cluster) Hear(pod *corev1.Pod, was, is *state.Pod) News {
	ref := controllerOf(pod)
	if ref == nil {
		return Unexpected
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.jobs[client.ObjectKey{Namespace: pod.Namespace, Name: ref.Name}]
	if m == nil || m.uid != ref.UID {
		return Unexpected
	}
	delete(m.found, pod.Name)
	return m.awaited.hear(pod.Name, was, is)
}

func (a *awaited) hear(pod string, was, is *state.Pod) News {
	if a.heard == nil {
		a.heard = map[string]bool{}
	}
	a.heard[pod] = true
	reach, found := a.pods[pod]
	now := stageOf(is)
	switch {
	case was == nil && now == waiting:
		a.add(pod, started)
		return Expected
	case found && now >= reach:
		return a.reached(pod, reach, now)
	case was != nil && is != nil && a.isExpected(reach, was, is):
		return Expected
	case a.broken:
		return MoreTrouble
	default:
		return Unexpected
	}
}

// isExpected reports whether a pod has come nearer to what the job waits for: to the stage that it is to reach, or after it while others
// start.
func (a *awaited) isExpected(reach stage, was, is *state.Pod) bool {
	if reach > started {
		return !is.Deleted.IsZero()
	}
	return (reach == started || stageOf(is) == started && a.left[started] > 0) && isMoreProgress(was, is)
}

// reached takes note that a pod that was awaited is there.
func (a *awaited) reached(pod string, reach, now stage) News {
	a.remove(pod)
	switch {
	case reach == started && now > started:
		return Unexpected // it has failed
	case reach == over && now == over:
		a.add(pod, gone)
	}
	if a.left[reach] > 0 {
		return Expected
	}
	return Last
}

// isMoreProgress reports whether the pod has only come nearer to being ready.
func isMoreProgress(was, is *state.Pod) bool {
	before := *was
	before.Node, before.Phase, before.Ready = is.Node, is.Phase, is.Ready
	return is.CanRun() && reflect.DeepEqual(&before, is)
}

// beginLook starts to record the pods with events during a reconcile.
func (m *jobMemo) beginLook() { m.awaited.heard = nil }

// endLook notes for which pods the job waits.
func (c *Cluster) endLook(s *state.Snapshot) {
	found := awaitedBy(s)
	c.memo(s.Job, func(m *jobMemo) {
		for pod := range m.awaited.heard {
			found.remove(pod)
		}
		m.awaited = found
	})
}

// awaitedBy returns for which pods the job waits. It waits for no start in particular if the number of its workers may change, as it can
// run without those that still start, and for no end of pods that may go on in the next attempt.
func awaitedBy(s *state.Snapshot) awaited {
	var found awaited
	for r := range s.Replicas() {
		found.broken = found.broken || r.IsBroken()
		if s.Job.Spec.Elastic == nil && (r.State == state.Pending || r.State == state.Starting) {
			found.add(r.Pod.Name, started)
		}
	}
	allEnd := s.IsFinished() || s.Job.Spec.IsSuspended()
	for i := range s.Pods {
		p := &s.Pods[i]
		switch {
		case p.Deleted.IsZero() && !allEnd && (!s.IsPast(p) || state.KeepsPods(s.Job)):
		case stageOf(p) == over:
			found.add(p.Name, gone)
		default:
			found.add(p.Name, over)
		}
	}
	return found
}
