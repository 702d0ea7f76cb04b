package state

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A kubelet that evicts a pod writes its end in two versions, a second apart at most. A controller may end a pod before a kubelet knows it:
//
//	Failed, the container runs, or waits after one that ran -> it ends: its exit is still to come
//	Failed, the container has terminated                    -> it has ended
//	Failed, no container ever began                         -> it never ran

// conditionKueue is what Kueue sets on a pod that it ends.
// Source: sigs.k8s.io/kueue, pkg/controller/tas.
const conditionKueue corev1.PodConditionType = "TerminatedByKueue"

// podPhase returns the pod's phase; Running for one that is called Failed while a container of it has yet to end.
func podPhase(pod *corev1.Pod) corev1.PodPhase {
	isEnding := func(c corev1.ContainerStatus) bool { // it ran, and its end is not written yet
		return c.State.Running != nil || c.State.Terminated == nil && c.LastTerminationState.Terminated != nil
	}
	if pod.Status.Phase == corev1.PodFailed && slices.ContainsFunc(pod.Status.ContainerStatuses, isEnding) {
		return corev1.PodRunning
	}
	return pod.Status.Phase
}

// neverRan reports whether the pod has failed and no container of it has begun. Of one that was deleted before, what its init containers did
// does not matter.
func neverRan(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodFailed {
		return false
	}
	isDeleted := pod.DeletionTimestamp != nil
	began := func(c corev1.ContainerStatus) bool {
		end := c.State.Terminated
		return c.State.Running != nil || c.LastTerminationState.Terminated != nil || end != nil && (!isDeleted || !isUnknown(end))
	}
	return !slices.ContainsFunc(pod.Status.ContainerStatuses, began) && (isDeleted || !slices.ContainsFunc(pod.Status.InitContainerStatuses, began))
}

// isUnknown reports whether the end is that which a kubelet writes of a container that never began. Of one that it has lost track of it
// writes that it used to be Running.
func isUnknown(end *corev1.ContainerStateTerminated) bool {
	return end.Reason == "ContainerStatusUnknown" && end.FinishedAt.IsZero() && !strings.Contains(end.Message, "used to be Running")
}

// rejected returns why the pod failed as a whole. A pod that failed before it had a node shows the reason in its latest own condition.
func rejected(pod *corev1.Pod) Trouble {
	if pod.Status.Phase != corev1.PodFailed {
		return Trouble{}
	}
	why := trouble(pod.Status.Reason, pod.Status.Message, time.Time{})
	if why.Reason != "" || pod.Spec.NodeName != "" || !neverRan(pod) {
		return why
	}
	for _, c := range pod.Status.Conditions {
		if c.Status == corev1.ConditionTrue && !slices.Contains(everyday, c.Type) && c.Reason != "" {
			return trouble(c.Reason, c.Message, time.Time{})
		}
	}
	return Trouble{Reason: reasonNoNode, Message: "it failed before it had a node"}
}

// reasonNoNode is the reason of a pod that failed without a node and without a reported reason.
const reasonNoNode = "NoNode"
