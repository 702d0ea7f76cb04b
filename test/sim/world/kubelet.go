package world

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/local/server"
)

// tellsPodAfter is how long after the end of a container a kubelet says that its pod has ended. Recorded were 1.1 to 1.9 s.
const tellsPodAfter = 1500 * time.Millisecond

// startsAgainAfter is how long after its end a container is started again in its pod.
func (w *World) startsAgainAfter(pod *corev1.Pod) time.Duration {
	if pod.Status.ContainerStatuses[0].RestartCount > 0 && HasGate(pod) {
		return 10 * time.Second
	}
	if pod.Status.ContainerStatuses[0].RestartCount > 0 {
		return max(time.Second, w.Habits.BackOff)
	}
	return time.Second
}

// move lets the scheduler or the kubelet of a pod do what is next.
func (w *World) move(pod *corev1.Pod) {
	switch {
	case pod.Spec.NodeName == "":
		w.place(pod)
	case w.isDown(pod.Spec.NodeName) || w.unreported(pod) || w.isClosing(pod):
	case IsOver(pod):
		w.letGo(pod)
	case isEnding(pod):
		w.closeEviction(pod)
	case HasEnded(pod):
		if w.Clock.Since(w.endedAt[pod.UID]) >= tellsPodAfter {
			w.closePod(pod)
		}
	case WaitsAtGate(pod), isOverdue(pod):
		w.keep(pod)
	case pod.DeletionTimestamp != nil:
		w.end(pod)
	case isRestarting(pod):
		if w.Clock.Since(w.endedAt[pod.UID]) >= w.startsAgainAfter(pod) {
			w.startAgain(pod)
		}
	case pod.Status.Phase == corev1.PodPending:
		w.prepare(pod)
	case w.isRenamed(pod):
		w.restart(pod)
	default:
		w.work(pod)
	}
}

// place lets the scheduler look at a pod without a node.
func (w *World) place(pod *corev1.Pod) {
	switch {
	case IsOver(pod):
		w.letGo(pod)
	case pod.DeletionTimestamp != nil:
	case isGated(pod):
		w.tellGated(pod)
	case server.GroupOf(pod) == "": // else the scheduler takes the group as one
		w.schedule(pod)
	}
}

// prepare does what comes before the containers run: the node may turn the pod away, its image may be missing, its init
// containers run.
func (w *World) prepare(pod *corev1.Pod) {
	switch reason := w.turnsAway(pod); {
	case reason != "":
		w.Reject(pod, reason)
	case w.NoImage[pod.Spec.Hostname]:
		w.say("kubelet: %s cannot pull its image", pod.Name)
		w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = containers(pod, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "ImagePullBackOff", Message: "Back-off pulling image \"train\""}})
		})
	case w.Unchecked && roleOf(pod) == "evaluator" && len(pod.Spec.InitContainers) > 0, w.isChecking(pod):
		w.check(pod)
	case !isInitialized(pod):
		w.initialize(pod)
	case w.cannotStart(pod):
		w.StartError(pod)
	default:
		w.run(pod)
	}
}

func (w *World) cannotStart(pod *corev1.Pod) bool {
	return w.Unstartable[pod.Spec.Hostname] || w.isByChance(w.Habits.Unstartable)
}

// initialize runs the init containers, of which those that go on beside the others stay; one may fail.
func (w *World) initialize(pod *corev1.Pod) {
	fails := w.cannotStart(pod)
	if fails {
		w.say("kubelet: an init container of %s fails", pod.Name)
	}
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		began := w.started(pod).Running.StartedAt
		if len(pod.Status.InitContainerStatuses) > 0 { // a check
			began = pod.Status.InitContainerStatuses[0].State.Running.StartedAt
		}
		pod.Status.ContainerStatuses = containers(pod, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}})
		pod.Status.InitContainerStatuses = nil
		for i := range pod.Spec.InitContainers {
			c := &pod.Spec.InitContainers[i]
			status := corev1.ContainerStatus{Name: c.Name, State: w.started(pod)}
			code := int32(0)
			if fails {
				code = w.initExit(c)
			}
			if c.RestartPolicy == nil {
				status.State = w.terminated(pod, code, "")
				status.State.Terminated.StartedAt = began
			}
			pod.Status.InitContainerStatuses, began = append(pod.Status.InitContainerStatuses, status), w.nodeTime(pod)
		}
	})
	if fails {
		w.endedAt[pod.UID] = w.Clock.Now()
	}
	if check, isKnown := w.checks[pod.UID]; isKnown { // also of one that was to take longer, before the checks became short
		w.checks[pod.UID] = span{check.from, w.Clock.Now()}
	}
}

// isInitialized reports whether the init containers of the pod have ended, but for those that go on beside the others.
func isInitialized(pod *corev1.Pod) bool {
	first := pod.Status.InitContainerStatuses
	return len(first) == len(pod.Spec.InitContainers) && (len(first) == 0 || first[0].State.Terminated != nil || isSideCar(pod, 0))
}

// isChecking reports whether the first init container of the pod is a preflight check that takes time, and has not ended.
func (w *World) isChecking(pod *corev1.Pod) bool {
	first := pod.Spec.InitContainers
	if w.Habits.Checking == 0 || len(first) == 0 || !strings.HasPrefix(first[0].Name, "preflight-") || isSideCar(pod, 0) || isInitialized(pod) {
		return false
	}
	if _, isKnown := w.checks[pod.UID]; !isKnown {
		w.say("kubelet: %s is checked", pod.Name)
		w.checks[pod.UID] = span{w.Clock.Now(), w.Clock.Now().Add(w.upTo(w.Habits.Checking))}
	}
	return w.Clock.Now().Before(w.checks[pod.UID].until)
}

// span is a time from and until when something goes on.
type span struct{ from, until time.Time }

// CheckedFor returns how long the preflight check of the pod had taken by then.
func (w *World) CheckedFor(uid types.UID, by time.Time) time.Duration {
	check := w.checks[uid]
	return max(0, min(check.until.Sub(check.from), by.Sub(check.from)))
}

// check lets the first init container of the pod run on.
func (w *World) check(pod *corev1.Pod) {
	if len(pod.Status.InitContainerStatuses) == 0 {
		w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = containers(pod, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}})
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.InitContainers[0].Name, State: w.started(pod)}}
		})
	}
}

// initExit returns how an init container fails. A preflight check blames its node with 1.
func (w *World) initExit(c *corev1.Container) int32 {
	code := int32(5)
	if strings.HasPrefix(c.Name, "preflight-") {
		code = 1
	}
	return cmp.Or(w.Habits.InitCode, code)
}

func (w *World) run(pod *corev1.Pod) {
	w.say("kubelet: %s runs on %s", pod.Name, pod.Spec.NodeName)
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.PodIP, pod.Status.HostIP = PodAddress, "192.168.0.1"
		if w.OldKubelets {
			pod.Status.HostIP = oldKubelet
		}
		pod.Status.ContainerStatuses = containers(pod, w.started(pod))
		w.begin(pod)
		pod.Status.Conditions = nil
		w.setReady(pod)
	})
}

// end lets a pod end that was told to: first its processes, then the pod.
func (w *World) end(pod *corev1.Pod) {
	switch {
	case w.Deaf[pod.Spec.Hostname]:
	case w.Chance != nil && w.Chance.IntN(max(1, w.Habits.Lazy)) > 0:
	case w.oneIn(3):
		w.Remove(Kubelet, pod)
	case pod.Status.Phase == corev1.PodPending && len(pod.Status.ContainerStatuses) == 0:
		w.Remove(Kubelet, pod)
	case pod.Status.Phase == corev1.PodPending:
		w.Forget(pod)
	case w.Chance == nil:
		w.Exit(pod, w.Polite, "")
	default:
		w.Exit(pod, []int32{0, 1, 137, 143}[w.Chance.IntN(4)], "")
	}
}

// letGo removes a pod that has ended and was told to: its object goes with the kubelet's last word.
func (w *World) letGo(pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil && !w.Deaf[pod.Spec.Hostname] {
		w.Remove(Kubelet, pod)
	}
}

// closePod tells of a pod what was told of its containers.
func (w *World) closePod(pod *corev1.Pod) {
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) { pod.Status.Phase = phaseAfter(pod) })
}

// Remove ends a pod at once, as kubelets do at last, and as kubectl delete --force does.
func (w *World) Remove(user string, pod *corev1.Pod) {
	w.say("%s: %s is gone", user, pod.Name)
	w.must(&server.Request{User: user, Verb: server.Delete, Kind: server.Pods, Key: client.ObjectKeyFromObject(pod), Delete: metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &pod.UID}}})
}

// containers returns the states of the pod's containers: all in one state.
func containers(pod *corev1.Pod, state corev1.ContainerState) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for i := range pod.Spec.Containers {
		all = append(all, corev1.ContainerStatus{Name: pod.Spec.Containers[i].Name, State: state})
	}
	return all
}

func (w *World) started(pod *corev1.Pod) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: w.nodeTime(pod)}}
}

// nodeTime is the time as the pod's node has it, in whole seconds: its clock may be wrong.
func (w *World) nodeTime(pod *corev1.Pod) metav1.Time { return w.timeOn(pod, w.Clock.Now()) }

// timeOn is a time as the pod's node has it.
func (w *World) timeOn(pod *corev1.Pod, at time.Time) metav1.Time {
	return metav1.NewTime(at.Add(w.Skew[pod.Spec.NodeName])).Rfc3339Copy()
}

func (w *World) setReady(pod *corev1.Pod) {
	dropReady(pod)
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: w.nodeTime(pod)})
}

// dropReady takes the condition Ready away.
func dropReady(pod *corev1.Pod) {
	pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
}
