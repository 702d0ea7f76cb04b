package world

import (
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/server"
)

// IsOver reports whether no process of the pod can run any more.
func IsOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// HasEnded reports whether the pod's container has ended, which the kubelet says before it says so of the pod.
func HasEnded(pod *corev1.Pod) bool {
	return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Terminated != nil
}

// tellsPodAfter is how long after the end of a container a kubelet says that its pod has ended. Recorded were 1.1 to 1.9 s.
const tellsPodAfter = 1500 * time.Millisecond

// move lets the scheduler or the kubelet of a pod do what is next.
func (w *World) move(pod *corev1.Pod) {
	switch {
	case pod.Spec.NodeName == "" && server.GroupOf(pod) != "": // the scheduler takes the group as one
	case pod.Spec.NodeName == "":
		w.schedule(pod)
	case !w.downAt[pod.Spec.NodeName].IsZero():
	case HasEnded(pod) && !IsOver(pod):
		if w.Clock.Since(pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt.Time) >= tellsPodAfter {
			w.closePod(pod)
		}
	case pod.DeletionTimestamp != nil:
		w.end(pod)
	case pod.Status.Phase == corev1.PodPending && w.NoImage[pod.Spec.Hostname]:
		w.say("kubelet: %s cannot pull its image", pod.Name)
		w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "ImagePullBackOff", Message: "Back-off pulling image \"train\""}})
		})
	case pod.Status.Phase == corev1.PodPending:
		w.run(pod)
	case pod.Status.Phase == corev1.PodRunning:
		w.work(pod)
	}
}

// schedule binds a pod to the next node.
func (w *World) schedule(pod *corev1.Pod) {
	node := w.placeFor(pod, w.free())
	if node == "" {
		w.tellNoPlace(pod)
		return
	}
	w.bind(pod, node)
}

// placeFor returns the next node for the pod, and takes a place there; "" if no node has one.
func (w *World) placeFor(pod *corev1.Pod, free map[string]int) string {
	nodes := slices.DeleteFunc(w.readyNodes(), func(name string) bool { return avoids(pod, name) || free[name] < 1 })
	if w.NoNodes || len(nodes) == 0 {
		return ""
	}
	node := nodes[w.bound%len(nodes)]
	w.bound++
	free[node]--
	return node
}

// free returns how many more pods fit on each node.
func (w *World) free() map[string]int {
	free := map[string]int{}
	for _, name := range w.readyNodes() {
		free[name] = math.MaxInt
		if w.Room > 0 {
			free[name] = w.Room
		}
	}
	if w.Room > 0 {
		for _, pod := range w.Pods() {
			if !IsOver(pod) {
				free[pod.Spec.NodeName]--
			}
		}
	}
	return free
}

func (w *World) tellNoPlace(pod *corev1.Pod) {
	if len(pod.Status.Conditions) > 0 {
		return // it has been told
	}
	w.writePod(Scheduler, pod, func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", LastTransitionTime: w.second()}}
	})
}

func (w *World) bind(pod *corev1.Pod, node string) {
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	w.must(&server.Request{User: Scheduler, Verb: server.Update, Kind: server.Pods, Key: client.ObjectKeyFromObject(pod), Object: bound})
	if len(pod.Status.Conditions) > 0 {
		now := w.Server.Get(server.Pods, pod.Namespace, pod.Name).(*corev1.Pod)
		w.writePod(Scheduler, now, func(pod *corev1.Pod) { pod.Status.Conditions = nil })
	}
}

// avoids reports whether the pod's affinity keeps it off the node.
func avoids(pod *corev1.Pod, node string) bool {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Operator == corev1.NodeSelectorOpNotIn && slices.Contains(field.Values, node) {
				return true
			}
		}
	}
	return false
}

func (w *World) run(pod *corev1.Pod) {
	w.say("kubelet: %s runs on %s", pod.Name, pod.Spec.NodeName)
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: w.second()}})
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: w.second()}}
	})
}

// end lets a pod end that was told to: first its processes, then the pod.
func (w *World) end(pod *corev1.Pod) {
	switch {
	case IsOver(pod) || pod.Status.Phase == corev1.PodPending:
		w.Remove(Kubelet, pod)
	case w.Deaf[pod.Spec.Hostname]:
	case w.Chance == nil:
		w.Exit(pod, w.Polite, "")
	case w.Chance.IntN(max(1, w.Habits.Lazy)) > 0:
	case w.oneIn(3):
		w.Remove(Kubelet, pod)
	default:
		w.Exit(pod, []int32{0, 1, 137, 143}[w.Chance.IntN(4)], "")
	}
}

// Exit ends the processes of a pod with a code. A kubelet tells it of the container first and of the pod a second later; now and
// then, by chance, of both at once. Recorded were 56 of 58 ends in two versions.
func (w *World) Exit(pod *corev1.Pod, code int32, message string) {
	w.say("kubelet: %s exits with %d", pod.Name, code)
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		end := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed", Message: message, FinishedAt: w.second()}
		if code != 0 {
			end.Reason = "Error"
		}
		pod.Status.ContainerStatuses = container(corev1.ContainerState{Terminated: end})
		pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		if w.oneIn(8) {
			pod.Status.Phase = phaseAfter(end)
		}
	})
}

// closePod tells of a pod what was told of its container.
func (w *World) closePod(pod *corev1.Pod) {
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) { pod.Status.Phase = phaseAfter(pod.Status.ContainerStatuses[0].State.Terminated) })
}

func phaseAfter(end *corev1.ContainerStateTerminated) corev1.PodPhase {
	if end.ExitCode == 0 {
		return corev1.PodSucceeded
	}
	return corev1.PodFailed
}

// Remove ends a pod at once, as kubelets do at last, and as kubectl delete --force does.
func (w *World) Remove(user string, pod *corev1.Pod) {
	w.say("%s: %s is gone", user, pod.Name)
	w.must(&server.Request{User: user, Verb: server.Delete, Kind: server.Pods, Key: client.ObjectKeyFromObject(pod), Delete: metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &pod.UID}}})
}

// work ends a pod that runs, by chance.
func (w *World) work(pod *corev1.Pod) {
	switch {
	case w.Chance == nil || w.Habits.Serving != "" && pod.Labels[v1alpha1.LabelRole] == w.Habits.Serving:
	case w.Chance.IntN(100) < w.Habits.Failing:
		codes := []int32{1, 137, 137, 139, 143, 255}
		if w.oneIn(12) {
			codes = []int32{126, 127, 93}
		}
		message := ""
		if w.oneIn(20) {
			message = strings.Repeat("ä", 2048) // as long as a kubelet lets it be
		}
		code := codes[w.Chance.IntN(len(codes))]
		if w.Exit(pod, code, message); code == 137 && w.oneIn(5) {
			w.outOfMemory(pod)
		}
	case w.Habits.Succeeding > 0 && w.oneIn(w.Habits.Succeeding):
		w.Exit(pod, 0, "")
	}
}

// outOfMemory says that the pod, which has just ended, ended for want of memory.
func (w *World) outOfMemory(pod *corev1.Pod) {
	ended, _ := w.Server.Get(server.Pods, pod.Namespace, pod.Name).(*corev1.Pod)
	w.writePod(Kubelet, ended, func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].State.Terminated.Reason = "OOMKilled" })
}

func container(state corev1.ContainerState) []corev1.ContainerStatus {
	return []corev1.ContainerStatus{{Name: "main", State: state}}
}
