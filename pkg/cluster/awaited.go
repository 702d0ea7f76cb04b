package cluster

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"

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
	// gone: it no longer exists.
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

// News is the meaning of a pod's change for its job.
type News int

// The meanings of a pod's change.
const (
	// Unexpected: the job does not wait for it.
	Unexpected News = iota
	// MoreTrouble: it is unexpected, and a replica of the job was broken at the last reconcile.
	MoreTrouble
	// Expected: the job waits for it, and for other pods that must come as far first.
	Expected
	// Last: no other pod must come as far.
	Last
)

// awaited holds the pods that a job waits for, by name, with the stage that each must reach. It is the result of the last
// reconcile minus the watch events since. If it is wrong, a reconcile comes early or late; no decision depends on it.
type awaited struct {
	pods map[string]stage
	left [gone + 1]int
	// broken is whether the last reconcile found a broken replica.
	broken bool
	// observed are the pods with a watch event since the current reconcile began. Its reads may not show them.
	observed map[string]bool
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

// PodChanged records that a pod of a job has changed from was to is. was is nil for a new pod, is for a deleted one.
func (c *Cluster) PodChanged(pod *corev1.Pod, was, is *state.Pod) (news News) {
	c.ownerMemo(pod, func(m *jobMemo) {
		delete(m.found, pod.Name)
		news = m.awaited.observe(pod.Name, was, is)
	})
	return news
}

func (a *awaited) observe(pod string, was, is *state.Pod) News {
	if a.observed == nil {
		a.observed = map[string]bool{}
	}
	a.observed[pod] = true
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

// isExpected reports whether a pod has moved towards the stage that it must reach, or past it while others start.
func (a *awaited) isExpected(reach stage, was, is *state.Pod) bool {
	if reach > started {
		return !is.Deleted.IsZero()
	}
	return (reach == started || stageOf(is) == started && a.left[started] > 0) && isMoreProgress(was, is)
}

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

// isMoreProgress reports whether the pod has only come closer to being ready.
func isMoreProgress(was, is *state.Pod) bool {
	before := *was
	before.Node, before.Phase, before.Ready = is.Node, is.Phase, is.Ready
	return is.CanRun() && reflect.DeepEqual(&before, is)
}

func (c *Cluster) endObserve(s *state.Snapshot) {
	found := awaitedBy(s)
	c.memo(s.Job, func(m *jobMemo) {
		for pod := range m.awaited.observed {
			found.remove(pod)
		}
		m.awaited = found
	})
}

// awaitedBy returns the pods that the job waits for. An elastic job waits for no start, because it can run without the starting
// workers. No job waits for the end of pods that may continue in the next attempt.
func awaitedBy(s *state.Snapshot) awaited {
	var found awaited
	for r := range s.Replicas() {
		found.broken = found.broken || r.IsBroken()
		if s.Job.Spec.Elastic == nil && (r.State == state.Pending || r.State == state.Starting) {
			found.add(r.Pod.Name, started)
		}
	}
	allEnd := s.IsFinished() || s.Job.Spec.IsSuspended() || !s.Job.DeletionTimestamp.IsZero()
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
