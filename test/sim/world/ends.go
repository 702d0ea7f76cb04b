package world

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// What kubelets say of pods that end, as it was recorded of real ones.

// IsOver reports whether no process of the pod can run any more.
func IsOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed && !isEnding(pod)
}

// HasEnded reports whether all of the pod's containers have ended for good, or one without which they cannot begin. The kubelet
// says that before it says so of the pod.
func HasEnded(pod *corev1.Pod) bool {
	for i := range pod.Status.InitContainerStatuses {
		if end := pod.Status.InitContainerStatuses[i].State.Terminated; end != nil && end.ExitCode != 0 && !isSideCar(pod, i) {
			return true
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end == nil || startsAgain(pod, i) {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) > 0
}

// End returns how the pod ended by itself: by its first container, which is the main one, or an init container that failed; nil if it goes on,
// whatever its side-cars do. An eviction ends all containers.
func End(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	if end := endOfFirst(pod); end != nil {
		return end
	}
	for i := range pod.Status.InitContainerStatuses {
		if end := pod.Status.InitContainerStatuses[i].State.Terminated; end != nil && end.ExitCode != 0 && !isSideCar(pod, i) {
			return end
		}
	}
	return nil
}

// endOfFirst returns how the first container of the pod ended by itself. Of one behind a gate that is its first end, also if its kubelet has started it again, or
// has lost track of it; nil if it goes on.
func endOfFirst(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	if len(pod.Status.ContainerStatuses) == 0 {
		return nil
	}
	c := &pod.Status.ContainerStatuses[0]
	end, before := ended(pod, 0), c.LastTerminationState.Terminated
	isLost := HasGate(pod) && pod.Status.Reason == "DeadlineExceeded" && before != nil && before.ContainerID == c.ContainerID
	switch {
	case end != nil && end.ExitCode == 0:
		return end
	case Strayed(pod), isLost:
		return before
	case end != nil && (HasGate(pod) || !startsAgain(pod, 0)):
		return end
	default:
		return nil
	}
}

// isSideCar reports whether the i-th init container goes on beside the others, and is started again whenever it ends.
func isSideCar(pod *corev1.Pod, i int) bool { return pod.Spec.InitContainers[i].RestartPolicy != nil }

// startsAgain reports whether the kubelet starts the i-th container, which has ended, again in its pod.
func startsAgain(pod *corev1.Pod, i int) bool {
	if IsOver(pod) || HasGate(pod) && pod.Status.HostIP == oldKubelet {
		return false
	}
	for _, rule := range pod.Spec.Containers[i].RestartPolicyRules {
		isNamed := slices.Contains(rule.ExitCodes.Values, ended(pod, i).ExitCode)
		if isNamed == (rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return true
		}
	}
	return false
}

// isRestarting reports whether a container of the pod is to be started again in it.
func isRestarting(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].State.Terminated != nil && startsAgain(pod, i) {
			return true
		}
	}
	return false
}

// startAgain starts the containers again that ended so that a rule of theirs wants it.
func (w *World) startAgain(pod *corev1.Pod) {
	w.say("kubelet: %s starts again in its pod", pod.Name)
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		for i := range pod.Status.ContainerStatuses {
			if c := &pod.Status.ContainerStatuses[i]; ended(pod, i) != nil && startsAgain(pod, i) {
				c.LastTerminationState.Terminated = ended(pod, i)
				c.LastTerminationState.Terminated.ContainerID = c.ContainerID
				c.State, c.RestartCount = w.started(pod), c.RestartCount+1
				w.beginContainer(pod, i)
			}
		}
		w.setReady(pod)
	})
}

// Exit ends the processes of a pod with a code: the first container, and with it the others, but that of a pod that goes on by
// itself.
func (w *World) Exit(pod *corev1.Pod, code int32, message string) {
	w.say("kubelet: %s exits with %d", pod.Name, code)
	w.report(pod, report{process: processOf(pod), name: pod.Name, end: end{code, message}, at: w.Clock.Now()})
}

// exited reports an end. A kubelet tells it of the containers first and of the pod a second later; of both at once if the pod was told to end,
// and now and then by chance. Recorded were 56 of 58 ends in two versions.
func (w *World) exited(pod *corev1.Pod, r report) {
	w.endedAt[pod.UID] = w.Clock.Now()
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		goesOn := pod.DeletionTimestamp == nil && w.oneIn(2)
		for i := range pod.Status.ContainerStatuses {
			switch c := &pod.Status.ContainerStatuses[i]; {
			case i == 0 && (ended(pod, 0) == nil || startsAgain(pod, 0) && !HasGate(pod)): // else only its side-cars ran on
				shown := w.byAgent(pod, r)
				c.State = w.terminated(pod, shown.code, shown.words)
				c.State.Terminated.FinishedAt = w.timeOn(pod, r.at)
				c.State.Terminated.Reason = cmp.Or(r.why, c.State.Terminated.Reason)
			case !goesOn && ended(pod, i) == nil:
				c.State = w.terminated(pod, w.Habits.SideCarCode, "")
			}
		}
		dropReady(pod)
		if HasEnded(pod) && (pod.DeletionTimestamp != nil || w.oneIn(8)) {
			pod.Status.Phase = phaseAfter(pod)
		}
	})
}

func (w *World) terminated(pod *corev1.Pod, code int32, message string) corev1.ContainerState {
	end := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed", Message: message, FinishedAt: w.nodeTime(pod)}
	if code != 0 {
		end.Reason = "Error"
	}
	return corev1.ContainerState{Terminated: end}
}

// phaseAfter returns the phase of a pod whose containers have all ended: one that failed is enough, whichever it is.
func phaseAfter(pod *corev1.Pod) corev1.PodPhase {
	for i := range pod.Status.ContainerStatuses {
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end == nil || end.ExitCode != 0 {
			return corev1.PodFailed
		}
	}
	return corev1.PodSucceeded
}

// outOfMemory says that the pod, which has just ended, ended for want of memory.
func (w *World) outOfMemory(pod *corev1.Pod) {
	w.writePod(Kubelet, w.now(pod), func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].State.Terminated.Reason = "OOMKilled" })
}

// Words of a runtime that cannot start a container, as containerd has written them.
const (
	NoMount   = `failed to create shim task: OCI runtime create failed: runc create failed: error mounting "/data" to rootfs: input/output error`
	NoProgram = `failed to create shim task: OCI runtime create failed: runc create failed: exec: "train": executable file not found in $PATH: unknown`
)

// StartError says that the runtime could not start the container, because of its node or because its image lacks the program. The pod never
// leaves the phase Pending before it fails.
func (w *World) StartError(pod *corev1.Pod) {
	words := NoMount
	if w.isByChance(w.Habits.Programless) {
		words = NoProgram
	}
	w.say("kubelet: %s cannot be started: %.60s", pod.Name, words)
	w.endedAt[pod.UID] = w.Clock.Now()
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		end := w.terminated(pod, 128, words)
		end.Terminated.Reason = "StartError"
		pod.Status.ContainerStatuses = containers(pod, end)
	})
}

// Reject turns a pod away before a container of it runs.
func (w *World) Reject(pod *corev1.Pod, reason string) {
	w.say("kubelet: %s is turned away: %s", pod.Name, reason)
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, reason
		pod.Status.Message = "Pod was rejected: " + reason
	})
}

// Forget says that a container is not there and that nobody knows how it ended, nor when.
func (w *World) Forget(pod *corev1.Pod) {
	w.say("kubelet: %s is not known any more", pod.Name)
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses = containers(pod, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was deleted"}})
		dropReady(pod)
	})
}

// Reboot lets a node go down and come back before anybody has missed it. The runtime finds the containers dead when it starts; of one that
// had ended before it knows how.
func (w *World) Reboot(node string) {
	if w.isDown(node) || w.node(node) == nil {
		return
	}
	w.say("node %s is rebooted", node)
	w.hit(&Fault{What: node + " is rebooted"}, w.runningOn(node)...)
	for _, pod := range w.Pods() {
		if pod.Spec.NodeName != node || pod.Status.Phase != corev1.PodRunning || HasEnded(pod) {
			continue
		}
		w.endedAt[pod.UID] = w.Clock.Now()
		w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
			for i := range pod.Status.ContainerStatuses {
				if c := &pod.Status.ContainerStatuses[i]; ended(pod, i) == nil {
					c.State = w.terminated(pod, 255, "")
					c.State.Terminated.Reason = "Unknown"
				}
			}
			dropReady(pod)
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse})
		})
	}
}

// work ends a pod that runs, by chance.
func (w *World) work(pod *corev1.Pod) {
	isDone := len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Terminated != nil
	switch {
	case isDone: // others of its containers go on, until they notice
		if !w.Habits.Staying && w.oneIn(3) {
			w.finish(pod)
		}
	case w.Chance == nil || w.Habits.Serving != "" && pod.Labels[v1alpha1.LabelRole] == w.Habits.Serving:
	case w.isByChance(w.Habits.Strange):
		[]func(*corev1.Pod){w.Evict, w.EvictInTwo, w.EvictForNode, w.Forget}[w.Chance.IntN(4)](pod)
	case w.isByChance(w.Habits.Failing):
		w.fail(pod)
	case w.Habits.Succeeding > 0 && w.oneIn(w.Habits.Succeeding):
		w.Exit(pod, 0, "")
	}
}

// finish ends the containers that went on after the first one.
func (w *World) finish(pod *corev1.Pod) {
	w.endedAt[pod.UID] = w.Clock.Now()
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		for i := range pod.Status.ContainerStatuses {
			if c := &pod.Status.ContainerStatuses[i]; ended(pod, i) == nil {
				c.State = w.terminated(pod, w.Habits.SideCarCode, "")
			}
		}
	})
}

// fail ends a pod with a code of failure.
func (w *World) fail(pod *corev1.Pod) {
	codes := []int32{1, 42, 134, 137, 139, 143, 255}
	if w.oneIn(12) {
		codes = []int32{126, 127, 93}
	}
	message := ""
	if w.oneIn(20) {
		message = strings.Repeat("ä", 2048) // as long as a kubelet lets it be
	}
	code := codes[w.Chance.IntN(len(codes))]
	if code == 1 {
		message = cmp.Or([]string{"Connection closed by peer", "", "Connection refused, trying again; step 1", ""}[w.Chance.IntN(4)], message)
	}
	if w.Exit(pod, code, message); code == 137 && w.oneIn(5) {
		w.say("kubelet: %s ran out of memory", pod.Name)
		w.outOfMemory(pod)
	}
}

// isByChance is true in so many percent of the moments.
func (w *World) isByChance(percent int) bool { return w.Chance != nil && w.Chance.IntN(100) < percent }

// turnsAway returns why the pod's node turns it away, "" if it takes it, or has taken it.
func (w *World) turnsAway(pod *corev1.Pod) string {
	if len(pod.Status.ContainerStatuses) > 0 {
		return ""
	}
	return w.Rejecting[pod.Spec.NodeName]
}
