package state

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Gate is what keeps a kubelet from starting the main container again before the operator has decided. Such a pod is created with an open gate. The
// operator closes it after a process was seen, and opens it to start the next one.
type Gate struct {
	// Gated is whether the pod has a gate. Open is whether it is open: the kubelet may start another process once this one has ended.
	Gated, Open bool
	// Waits is whether the process has ended and the pod does not end for it: a kubelet starts another process in it, once the gate is open.
	Waits bool
	// Gutted is whether the pod has lost what its containers run in, as after a reboot of its node: no kubelet starts a container in it again.
	Gutted bool
	// Strayed is whether the kubelet has started a process by itself in the pod's present life.
	Strayed bool
}

// IsKept reports whether the pod can begin the next life after its process has ended: its kubelet has started nothing since, and starts nothing before the
// gate opens.
func (g *Gate) IsKept() bool { return g.Waits && !g.Open && !g.Strayed && !g.Gutted }

// gateOf reads the pod's gate. left are the processes that the pod has left, or is to leave, for its present life.
func gateOf(pod *corev1.Pod, left []string) Gate {
	if !isGated(pod) || isEnd(pod.Status.Phase) {
		return Gate{Gated: isGated(pod)}
	}
	main := mainStatus(pod)
	end := endOfContainer(pod, &main, left)
	g := Gate{Gated: true, Open: pod.Annotations[v1alpha1.AnnotationStartGate] != v1alpha1.GateClosed}
	if latest := cmp.Or(main.State.Terminated, main.LastTerminationState.Terminated); end != nil {
		g.Waits = main.State.Running == nil && restartsInPlace(pod, main.Name, latest.ExitCode)
		g.Gutted = slices.ContainsFunc(pod.Status.Conditions, IsGutted)
		g.Strayed = end != main.State.Terminated && end.ContainerID != main.ContainerID
	}
	return g
}

// IsGutted reports whether the condition shows that the pod has no sandbox.
func IsGutted(c corev1.PodCondition) bool {
	return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse
}

// waitsWithEnd reports whether the kubelet shows the end of the main container of a pod with a gate as its last one, as it waits before it starts it
// again. Also a pod that has failed meanwhile shows it so.
func waitsWithEnd(pod *corev1.Pod, c *corev1.ContainerStatus) bool {
	before := c.LastTerminationState.Terminated
	return isGated(pod) && c.Name == MainContainer(pod) && c.State.Waiting != nil && c.ContainerID != "" && before != nil && before.ContainerID == c.ContainerID
}

// isGated reports whether the pod has a gate: not on an API server before 1.35, which drops the policy of the container and the rules that keep the pod.
func isGated(pod *corev1.Pod) bool {
	main := MainOf(pod)
	return pod.Annotations[v1alpha1.AnnotationStartGate] != "" && InPlaceRestart(pod) != "" && main != nil && main.RestartPolicy != nil
}

// endOfContainer returns the end of a container in the pod's present life; nil if it has not ended, or the kubelet starts it again as the template
// wants. Of the main container of a pod with a gate it is the first end in this life, which the kubelet may show as the last one: of a container that
// waits, that it has started again by itself, or that it has lost track of.
func endOfContainer(pod *corev1.Pod, c *corev1.ContainerStatus, left []string) *corev1.ContainerStateTerminated {
	isGated := isGated(pod) && c.Name == MainContainer(pod)
	end, before := c.State.Terminated, c.LastTerminationState.Terminated
	if waitsWithEnd(pod, c) {
		end = before
	}
	switch {
	case isGated && end != nil && end.ExitCode == 0: // also of one that the kubelet has started by itself: the work is done
		return end
	case isGated && before != nil && !slices.Contains(left, before.ContainerID) && !slices.Contains(left, c.ContainerID):
		return before
	case end == nil, !isGated && restartsInPlace(pod, c.Name, end.ExitCode):
		return nil
	default:
		return end
	}
}
