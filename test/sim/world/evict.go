package world

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What ends a pod as a whole: its kubelet, for its storage or the node's, and Kueue. Kubelets 1.37.1 on busy nodes wrote:
//
//	for its storage   the process ends, and then its peers; up to 5 s later:
//	                  Failed, Evicted, the container waits after an unknown end (19 of 20), or is said to run
//	                  Failed, Evicted, the container has ended: in an unknown way, without a time; or with one
//	for its node      the same, with the condition DisruptionTarget
//	at its start      Running without containers; seconds later exit 143 or 137; up to 3 s later Failed, Evicted, "The node had condition"

// Words of kubelets that evict a pod.
const (
	ofItsStorage = "Usage of EmptyDir volume \"scratch\" exceeds the limit \"5Mi\". "
	ofItsNode    = "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 900Mi. "
	atTheStart   = "Pod was rejected: The node had condition: [DiskPressure]. "
)

// Evict ends a pod for its own storage, and says it in one version. The kubelet sets no DisruptionTarget then.
func (w *World) Evict(pod *corev1.Pod) {
	w.say("kubelet: %s is evicted", pod.Name)
	w.endedAt[pod.UID] = w.Clock.Now()
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		callEvicted(pod, ofItsStorage)
		w.endEvicted(pod)
	})
}

// EvictInTwo does the same in two versions, at once or within Late.
func (w *World) EvictInTwo(pod *corev1.Pod) { w.evict(pod, ofItsStorage, false) }

// EvictForNode does the same for the sake of the node, which lacks storage.
func (w *World) EvictForNode(pod *corev1.Pod) { w.evict(pod, ofItsNode, true) }

func (w *World) evict(pod *corev1.Pod, why string, isForNode bool) {
	w.say("kubelet: %s is evicted: %.14s", pod.Name, why)
	isLost := w.Habits.Forgetful > 0 && w.oneIn(w.Habits.Forgetful)
	w.report(pod, report{process: processOf(pod), name: pod.Name, at: w.Clock.Now(), first: func(pod *corev1.Pod) {
		callEvicted(pod, why)
		if isForNode {
			setCondition(&pod.Status, corev1.DisruptionTarget, "TerminationByKubelet", why)
			pod.Status.Conditions[len(pod.Status.Conditions)-1].LastTransitionTime = w.second()
		}
		if isLost {
			loseContainers(pod)
		}
	}})
}

func callEvicted(pod *corev1.Pod, why string) {
	pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", why
	dropReady(pod)
}

// isEnding reports whether the pod is called Failed while a container of it is not said to have ended.
func isEnding(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		before := c.LastTerminationState.Terminated
		return c.State.Running != nil || c.State.Terminated == nil && before != nil && (c.ContainerID == "" || before.ContainerID != c.ContainerID)
	})
}

// unknownEnd is the end of a container that the kubelet has lost.
func unknownEnd() *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated"}
}

// loseContainers says of the containers that they wait, after an end that is not known.
func loseContainers(pod *corev1.Pod) {
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.State.Terminated == nil {
			*c = corev1.ContainerStatus{Name: c.Name, RestartCount: c.RestartCount + 1, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
				LastTerminationState: corev1.ContainerState{Terminated: unknownEnd()}}
		}
	}
}

// closeEviction says how the containers of an evicted pod ended.
func (w *World) closeEviction(pod *corev1.Pod) {
	w.endedAt[pod.UID] = w.Clock.Now()
	w.writePod(Kubelet, pod, w.endEvicted)
}

func (w *World) endEvicted(pod *corev1.Pod) {
	for i := range pod.Status.ContainerStatuses {
		switch c := &pod.Status.ContainerStatuses[i]; {
		case c.State.Terminated != nil:
		case c.State.Waiting != nil && c.LastTerminationState.Terminated != nil:
			c.State = corev1.ContainerState{Terminated: unknownEnd()}
		default:
			c.State, c.LastTerminationState = w.terminated(pod, 137, ""), corev1.ContainerState{}
		}
	}
}

// closing is a pod whose kubelet has ended it as it started, and has yet to write that.
type closing struct {
	pod  process
	name string
	// was are its containers, of which the kubelet knows nothing at first, code is how they ended, and at is when.
	was  []corev1.ContainerStatus
	code int32
	at   time.Time
	// tellsAt is when the kubelet says so, and why when it says why.
	tellsAt, whyAt time.Time
}

// EvictAtStart has the kubelet of a node start while the node lacks disk: it ends all pods there, and says only at last why.
func (w *World) EvictAtStart(node string) {
	w.say("kubelet: starts on %s, which lacks disk", node)
	pods := w.runningOn(node)
	w.hit(&Fault{What: "the kubelet of " + node + " starts under pressure"}, pods...)
	now := w.Clock.Now()
	for _, pod := range pods {
		if !w.runs(pod) {
			continue
		}
		code, tellsAt := int32(143), now.Add(w.upTo(3*time.Second))
		if w.oneIn(3) {
			code = 137 // its programs do not end when they are told to
		}
		w.closings = append(w.closings, closing{processOf(pod), pod.Name, pod.Status.ContainerStatuses, code, now, tellsAt, tellsAt.Add(200*time.Millisecond + w.upTo(2600*time.Millisecond))})
		w.writePod(Kubelet, pod, func(pod *corev1.Pod) { pod.Status.ContainerStatuses = nil })
	}
}

// upTo returns a time by chance; half of it without chance.
func (w *World) upTo(most time.Duration) time.Duration {
	if w.Chance == nil {
		return most / 2
	}
	return time.Duration(w.Chance.Int64N(int64(most)))
}

// isClosing reports whether the kubelet, which starts, has yet to say how and why it ended the pod.
func (w *World) isClosing(pod *corev1.Pod) bool {
	return slices.ContainsFunc(w.closings, func(c closing) bool { return c.pod.pod == pod.UID })
}

// closeStarted says of the pods that EvictAtStart has ended how they ended, and then why.
func (w *World) closeStarted() {
	w.closings = slices.DeleteFunc(w.closings, func(c closing) bool {
		pod := w.pod(c.name)
		if pod == nil || pod.UID != c.pod.pod {
			return true
		}
		switch now := w.Clock.Now(); {
		case pod.Status.Reason != "": // its kubelet lets it go only now
			return true
		case len(pod.Status.ContainerStatuses) == 0 && !now.Before(c.tellsAt):
			w.say("kubelet: %s has exited with %d", pod.Name, c.code)
			w.endedAt[pod.UID] = now
			w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses = c.was
				for i := range pod.Status.ContainerStatuses {
					if s := &pod.Status.ContainerStatuses[i]; s.State.Terminated == nil {
						s.State = w.terminated(pod, c.code, "")
						s.State.Terminated.FinishedAt = w.timeOn(pod, c.at)
					}
				}
				dropReady(pod)
			})
		case !now.Before(c.whyAt):
			w.say("kubelet: %s was rejected", pod.Name)
			w.writePod(Kubelet, pod, func(pod *corev1.Pod) { callEvicted(pod, atTheStart) })
		}
		return false
	})
}

// GiveUp has Kueue end a pod that has no node, because the node that Kueue chose for it does not take it.
func (w *World) GiveUp(pod *corev1.Pod) {
	w.say("kueue: %s cannot run on its node", pod.Name)
	w.writePod(User, pod, func(pod *corev1.Pod) {
		setCondition(&pod.Status, "TerminatedByKueue", "UnschedulableOnAssignedNode", "Pod terminated by Kueue due to node taint")
		pod.Status.Conditions[len(pod.Status.Conditions)-1].LastTransitionTime = w.second()
		pod.Status.Phase = corev1.PodFailed
	})
}
