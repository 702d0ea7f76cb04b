package world

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What ends a pod as a whole: its kubelet, for its storage or the node's, and Kueue.

// Evict ends a pod for its own storage, and says it in one version. The kubelet sets no DisruptionTarget then.
func (w *World) Evict(pod *corev1.Pod) {
	w.say("kubelet: %s is evicted", pod.Name)
	w.endedAt[pod.UID] = w.Clock.Now()
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		callEvicted(pod)
		w.endEvicted(pod)
	})
}

// EvictInTwo does the same in two versions, as a busy kubelet does: in the first the containers still run, or are not found.
func (w *World) EvictInTwo(pod *corev1.Pod) {
	w.say("kubelet: %s is evicted, and its containers are said to run", pod.Name)
	w.writePod(Kubelet, pod, callEvicted)
	if w.oneIn(3) {
		w.writePod(Kubelet, w.now(pod), func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = containers(pod, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})
			for i := range pod.Status.ContainerStatuses {
				pod.Status.ContainerStatuses[i].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}
			}
		})
	}
}

// EvictForNode does the same for the sake of the node, which lacks memory or storage.
func (w *World) EvictForNode(pod *corev1.Pod) {
	w.say("kubelet: %s is evicted for the sake of its node", pod.Name)
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		setCondition(&pod.Status, corev1.DisruptionTarget, "TerminationByKubelet", "The node was low on resource: memory.")
		pod.Status.Conditions[len(pod.Status.Conditions)-1].LastTransitionTime = w.second()
	})
	w.EvictInTwo(w.now(pod))
}

func callEvicted(pod *corev1.Pod) {
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
	pod.Status.Message = "Usage of EmptyDir volume \"scratch\" exceeds the limit \"5Mi\". "
	dropReady(pod)
}

// isEnding reports whether the pod is called Failed while a container of it is not said to have ended.
func isEnding(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Terminated == nil && (c.State.Running != nil || c.LastTerminationState.Terminated != nil)
	})
}

// closeEviction says how the containers of an evicted pod ended.
func (w *World) closeEviction(pod *corev1.Pod) {
	w.endedAt[pod.UID] = w.Clock.Now()
	if w.Habits.Forgetful > 0 && w.oneIn(w.Habits.Forgetful) {
		w.writePod(Kubelet, pod, loseContainers)
		return
	}
	w.writePod(Kubelet, pod, w.endEvicted)
}

// loseContainers says of the containers that they have ended, and not when.
func loseContainers(pod *corev1.Pod) {
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.State.Terminated == nil {
			c.State, c.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown",
				Message: "The container could not be located when the pod was terminated"}}, corev1.ContainerState{}
		}
	}
}

// EvictAtStart has the kubelet of a pod start on a node that lacks disk: it ends the containers first, and never says that it was to blame.
func (w *World) EvictAtStart(pod *corev1.Pod) {
	w.say("kubelet: starts on %s, which lacks disk, and ends %s", pod.Spec.NodeName, pod.Name)
	w.Exit(pod, 143, "")
	w.closings = append(w.closings, pod.UID)
}

// closeStarted says of the pods that EvictAtStart has ended that they were evicted.
func (w *World) closeStarted() {
	w.closings = slices.DeleteFunc(w.closings, func(uid types.UID) bool {
		at := slices.IndexFunc(w.Pods(), func(pod *corev1.Pod) bool { return pod.UID == uid })
		if at < 0 {
			return true
		}
		pod := w.Pods()[at]
		isDue := HasEnded(pod) && w.Clock.Since(w.endedAt[uid]) >= time.Second
		if isDue {
			w.say("kubelet: %s was evicted at start", pod.Name)
			w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
				callEvicted(pod)
				pod.Status.Message = "The node had condition: [DiskPressure]. "
			})
		}
		return isDue
	})
}

func (w *World) endEvicted(pod *corev1.Pod) {
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.State.Terminated == nil {
			c.State, c.LastTerminationState = w.terminated(pod, 137, ""), corev1.ContainerState{}
		}
	}
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
