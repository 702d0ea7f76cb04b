package fleet

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/world"
)

// digest is that of every image.
const digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// hear has follow what follows from a change of a pod.
func (f *Fleet) hear(change *server.Change) {
	if change.Kind != server.Pods {
		return
	}
	was, _ := change.Was.(*corev1.Pod)
	is, _ := change.Is.(*corev1.Pod)
	switch {
	case was == nil:
		f.Created++
		f.unbound = append(f.unbound, client.ObjectKeyFromObject(is))
	case is == nil:
		f.leave(was)
	default:
		f.follow(was, is)
	}
	f.count(was, is)
}

// follow has follow what follows from a change of a pod that stays.
func (f *Fleet) follow(was, is *corev1.Pod) {
	key, node := client.ObjectKeyFromObject(is), is.Spec.NodeName
	if was.Spec.NodeName == "" && node != "" {
		f.give(node, -1)
		if f.bound[node] == nil {
			f.bound[node] = map[types.UID]client.ObjectKey{}
		}
		f.bound[node][is.UID] = key
		f.After(f.Times.Start, func() { f.start(key, is.UID) })
	}
	if !world.IsOver(was) && world.IsOver(is) {
		f.give(node, 1)
	}
	if was.Spec.Containers[0].Image != is.Spec.Containers[0].Image {
		f.After(f.Times.Start, func() { f.restart(key, is.UID) })
	}
	if was.DeletionTimestamp == nil && is.DeletionTimestamp != nil {
		f.After(f.Times.End, func() { f.end(key, is.UID) })
	}
}

// leave takes over that a pod is gone.
func (f *Fleet) leave(was *corev1.Pod) {
	if node := was.Spec.NodeName; node != "" {
		if delete(f.bound[node], was.UID); !world.IsOver(was) {
			f.give(node, 1)
		}
	}
}

// start has the pod run, if it is there and its node lives.
func (f *Fleet) start(key client.ObjectKey, uid types.UID) {
	pod := f.Pod(key.Name)
	if pod == nil || pod.UID != uid || f.dead[pod.Spec.NodeName] || pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return
	}
	f.writePod(pod, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{f.container(pod)}
	})
}

// container returns the status of the pod's container with a new process.
func (f *Fleet) container(pod *corev1.Pod) corev1.ContainerStatus {
	c := pod.Spec.Containers[0]
	repository, _, _ := strings.Cut(c.Image, ":")
	f.processes++
	return corev1.ContainerStatus{Name: c.Name, Ready: true, ContainerID: "fleet://" + strconv.Itoa(f.processes), ImageID: repository + "@" + digest,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(f.Clock.now)}}}
}

// restart starts the container of the pod again, if the pod is there, has not ended, and its node lives.
func (f *Fleet) restart(key client.ObjectKey, uid types.UID) {
	pod := f.Pod(key.Name)
	if pod == nil || pod.UID != uid || f.dead[pod.Spec.NodeName] || world.IsOver(pod) || pod.DeletionTimestamp != nil || len(pod.Status.ContainerStatuses) == 0 {
		return
	}
	f.writePod(pod, func(pod *corev1.Pod) {
		was, is := pod.Status.ContainerStatuses[0], f.container(pod)
		end := was.State.Terminated
		if end == nil {
			end = &corev1.ContainerStateTerminated{ExitCode: 143, Reason: "Error", FinishedAt: metav1.NewTime(f.Clock.now)}
		}
		end.ContainerID = was.ContainerID
		is.LastTerminationState, is.RestartCount = corev1.ContainerState{Terminated: end}, was.RestartCount+1
		pod.Status.ContainerStatuses[0] = is
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
}

// end removes the pod, which was told to end, if its node lives.
func (f *Fleet) end(key client.ObjectKey, uid types.UID) {
	pod := f.Pod(key.Name)
	if pod == nil || pod.UID != uid || f.dead[pod.Spec.NodeName] {
		return
	}
	f.do(&server.Request{User: world.Kubelet, Verb: server.Delete, Kind: server.Pods, Key: key, Delete: metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &uid}}})
}

// Exit ends the pod's program with that code, if it runs.
func (f *Fleet) Exit(pod *corev1.Pod, code int32) {
	is := f.Pod(pod.Name)
	if is == nil || is.UID != pod.UID || !f.Runs(is) {
		return
	}
	f.writePod(is, func(pod *corev1.Pod) {
		c := &pod.Status.ContainerStatuses[0]
		c.Ready, c.State = false, corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", FinishedAt: metav1.NewTime(f.Clock.now), ContainerID: c.ContainerID}}
		pod.Status.Conditions = nil
		if !world.WaitsAtGate(pod) {
			pod.Status.Phase = corev1.PodFailed
		}
	})
}

// Runs reports whether a process of the pod truly runs.
func (f *Fleet) Runs(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.Status.ContainerStatuses[0].State.Running != nil && !f.dead[pod.Spec.NodeName]
}

// count keeps account of the ranks whose processes run and can be reached.
func (f *Fleet) count(was, is *corev1.Pod) {
	pod := is
	if pod == nil {
		pod = was
	}
	_, reachable := pod.Labels[v1alpha1.LabelJobName]
	name, wasAlive := f.alive[pod.UID]
	switch isAlive := is != nil && reachable && f.Runs(is); {
	case isAlive && !wasAlive:
		f.alive[pod.UID] = pod.Spec.Hostname
		if f.ranks[pod.Spec.Hostname]++; f.ranks[pod.Spec.Hostname] > 1 {
			f.Doubled++
		}
	case wasAlive && !isAlive:
		delete(f.alive, pod.UID)
		if f.ranks[name]--; f.ranks[name] == 0 {
			delete(f.ranks, name)
		}
	}
}

func (f *Fleet) writePod(pod *corev1.Pod, change func(*corev1.Pod)) {
	is := pod.DeepCopy()
	change(is)
	f.do(&server.Request{User: world.Kubelet, Verb: server.Update, Kind: server.Pods, Status: true, Key: client.ObjectKeyFromObject(pod), Object: is})
}
