package world

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What kubelets do when the image of a container that runs gets another name: they end the container and start it again in the pod,
// whatever the pod's restart policy says. Recorded were 380 of 380; a kubelet that is killed between the two ends the pod.

// digest is that of every image there is.
const digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// begin gives the containers of a pod processes of their own, of the images that its spec names.
func (w *World) begin(pod *corev1.Pod) {
	for i := range pod.Status.ContainerStatuses {
		w.beginContainer(pod, i)
	}
}

func (w *World) beginContainer(pod *corev1.Pod, i int) {
	w.processes++
	repository, _, _ := strings.Cut(strings.TrimPrefix(pod.Spec.Containers[i].Image, "docker.io/library/"), ":")
	c := &pod.Status.ContainerStatuses[i]
	c.ContainerID, c.ImageID = fmt.Sprintf("sim://%d", w.processes), "docker.io/library/"+repository+"@"+digest
	if w.SideLoaded[pod.Spec.NodeName] {
		c.ImageID = digest
	}
	if w.images[pod.UID] == nil {
		w.images[pod.UID] = map[int]string{}
	}
	w.images[pod.UID][i] = pod.Spec.Containers[i].Image
}

// isRenamed reports whether the image of the first container has another name than the one that it was started with.
func (w *World) isRenamed(pod *corev1.Pod) bool {
	return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Running != nil &&
		w.images[pod.UID][0] != pod.Spec.Containers[0].Image
}

// restart ends the first container and starts it again.
func (w *World) restart(pod *corev1.Pod) {
	switch {
	case w.Deaf[pod.Spec.Hostname]:
	case w.Chance != nil && w.Chance.IntN(max(1, w.Habits.Lazy)) > 0: // it takes its time to end
	case !WaitsAtGate(pod) && (w.Fragile[pod.Spec.NodeName] || w.oneIn(10)): // the kubelet was killed in between
		w.Exit(pod, 143, "")
	default:
		w.say("kubelet: %s is started again in its pod", pod.Name)
		w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
			c := &pod.Status.ContainerStatuses[0]
			end := cmp.Or(ended(pod, 0), w.terminated(pod, 143, "").Terminated)
			isForgotten := c.State.Running != nil && w.nodeTime(pod).Sub(c.State.Running.StartedAt.Time) < 2*time.Second && w.oneIn(4) // it barely ran
			if !isForgotten || c.LastTerminationState.Terminated == nil {
				c.LastTerminationState.Terminated = end
				end.ContainerID = c.ContainerID
			}
			c.State, c.RestartCount = w.started(pod), c.RestartCount+1
			w.beginContainer(pod, 0)
			w.setReady(pod)
		})
	}
}
