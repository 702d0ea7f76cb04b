package world

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// What kubelets do with a container whose restart rules want it started again, and one of whose mounts has a path that they refuse: nothing, until the
// path is another one. The first process of a pod is started again after half a second, later ones wait ten. A pod whose activeDeadlineSeconds are over
// fails, and its kubelet has lost track of its containers. Recorded on a kubelet of 1.37.

// oldKubelet is the address of nodes whose kubelets know no restart rules of containers.
const oldKubelet = "192.168.0.34"

// HasGate reports whether the kubelet reads from an annotation of the pod whether it may start the first container.
func HasGate(pod *corev1.Pod) bool {
	return len(pod.Spec.Containers) > 0 && slices.ContainsFunc(pod.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.SubPathExpr != "" })
}

// mayStart reports whether the kubelet can mount what the first container mounts.
func mayStart(pod *corev1.Pod) bool {
	return !HasGate(pod) || pod.Annotations[v1alpha1.AnnotationStartGate] == "open"
}

// ended returns how the i-th container ended, also while its kubelet shows that it waits before it starts it again; nil if it goes on.
func ended(pod *corev1.Pod, i int) *corev1.ContainerStateTerminated {
	c := &pod.Status.ContainerStatuses[i]
	before := c.LastTerminationState.Terminated
	if i == 0 && HasGate(pod) && c.State.Waiting != nil && before != nil && before.ContainerID == c.ContainerID {
		return before
	}
	return c.State.Terminated
}

// WaitsAtGate reports whether the first container of the pod has ended and would be started again, were it not for the gate.
func WaitsAtGate(pod *corev1.Pod) bool {
	return !IsOver(pod) && HasGate(pod) && len(pod.Status.ContainerStatuses) > 0 && ended(pod, 0) != nil && startsAgain(pod, 0)
}

// Strayed reports whether the kubelet has started a process by itself in the pod's present life: the first one has ended, and is not the one that the pod
// left for this life.
func Strayed(pod *corev1.Pod) bool {
	if len(pod.Status.ContainerStatuses) == 0 || len(pod.Spec.Containers) == 0 {
		return false
	}
	c := &pod.Status.ContainerStatuses[0]
	before := c.LastTerminationState.Terminated
	hasLeft := func(process string) bool {
		return strings.Contains(pod.Annotations[v1alpha1.AnnotationInPlaceRestart], strconv.Quote(process))
	}
	return HasGate(pod) && before != nil && before.ContainerID != c.ContainerID && !hasLeft(before.ContainerID) && !hasLeft(c.ContainerID)
}

// keep does what is next with a pod whose first container has ended behind a gate, or that may not be active any more.
func (w *World) keep(pod *corev1.Pod) {
	switch {
	case pod.DeletionTimestamp != nil && WaitsAtGate(pod):
		w.closePod(pod)
	case pod.DeletionTimestamp != nil:
		w.end(pod)
	case isOverdue(pod):
		w.closeOverdue(pod)
	default:
		w.passGate(pod)
	}
}

// passGate starts the first container again if the gate is open: at once if its image has another name, else after the back-off.
func (w *World) passGate(pod *corev1.Pod) {
	switch {
	case hasNoSandbox(pod): // after a reboot
	case pod.Status.ContainerStatuses[0].State.Waiting == nil && w.oneIn(4):
		w.backOff(pod)
	case !mayStart(pod) || w.Deaf[pod.Spec.Hostname] || w.NoImage[pod.Spec.Hostname]: // its image may be collected meanwhile
	case w.images[pod.UID][0] != pod.Spec.Containers[0].Image:
		w.restart(pod)
	case w.Clock.Since(w.endedAt[pod.UID]) >= w.startsAgainAfter(pod):
		w.startAgain(pod)
	}
}

// backOff shows the first container as one that waits.
func (w *World) backOff(pod *corev1.Pod) {
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		c := &pod.Status.ContainerStatuses[0]
		c.LastTerminationState.Terminated = c.State.Terminated
		c.LastTerminationState.Terminated.ContainerID = c.ContainerID
		c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}}
	})
}

// hasNoSandbox reports whether the pod has lost what its containers run in.
func hasNoSandbox(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse
	})
}

// isOverdue reports whether the pod may not be active any more.
func isOverdue(pod *corev1.Pod) bool { return pod.Spec.ActiveDeadlineSeconds != nil && !IsOver(pod) }

// closeOverdue ends a pod that may not be active any more.
func (w *World) closeOverdue(pod *corev1.Pod) {
	w.say("kubelet: %s was active for too long", pod.Name)
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
		pod.Status.Message = "Pod was active on the node longer than the specified deadline"
		for i := range pod.Status.ContainerStatuses {
			c := &pod.Status.ContainerStatuses[i]
			switch end := ended(pod, i); {
			case end == nil:
				c.State = w.terminated(pod, 137, "")
			case i == 0:
				c.LastTerminationState.Terminated = end
				c.LastTerminationState.Terminated.ContainerID = c.ContainerID
				c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown",
					Message: "The container could not be located when the pod was terminated"}}
			}
		}
	})
}
