package world

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/local/server"
)

// What clusters do to pods beside ending them: finalizers, scheduling gates, side-cars that end, and webhooks that add to pods.

// Keeper is a finalizer of others.
const Keeper = "example.com/keep"

// Keep adds a finalizer to a pod: its object stays when it has ended and is deleted.
func (w *World) Keep(pod *corev1.Pod) {
	w.say("a finalizer keeps %s, %s", pod.Name, pod.Status.Phase)
	w.updatePod(pod, func(pod *corev1.Pod) { pod.Finalizers = append(pod.Finalizers, Keeper) })
}

// IsKept reports whether a finalizer keeps the pod.
func IsKept(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, Keeper) }

// LetGo takes the finalizers away.
func (w *World) LetGo() {
	for _, pod := range w.Pods() {
		if IsKept(pod) {
			w.say("no finalizer keeps %s any more", pod.Name)
			w.updatePod(pod, func(pod *corev1.Pod) { pod.Finalizers = nil })
		}
	}
}

// OpenGates takes the scheduling gates of the pods away.
func (w *World) OpenGates() {
	for _, pod := range w.Pods() {
		if isGated(pod) && !IsOver(pod) {
			w.say("the gate of %s is open", pod.Name)
			w.updatePod(pod, func(pod *corev1.Pod) { pod.Spec.SchedulingGates = nil })
			w.writePod(Scheduler, w.now(pod), func(pod *corev1.Pod) { pod.Status.Conditions = nil })
		}
	}
}

// tellGated says that a gate keeps the pod from the scheduler, as the API server does.
func (w *World) tellGated(pod *corev1.Pod) {
	if len(pod.Status.Conditions) == 0 {
		w.writePod(Scheduler, pod, func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
				Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates", LastTransitionTime: w.second()}}
		})
	}
}

// isGated reports whether the scheduler may not look at the pod yet.
func isGated(pod *corev1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 }

// EndSideCars ends the containers of a pod that run beside the first one.
func (w *World) EndSideCars(pod *corev1.Pod, code int32) {
	if !w.runs(pod) || len(pod.Status.ContainerStatuses) < 2 {
		return
	}
	w.say("the side-cars of %s exit with %d", pod.Name, code)
	w.writePod(Kubelet, pod, func(pod *corev1.Pod) {
		for i := range pod.Status.ContainerStatuses[1:] {
			if c := &pod.Status.ContainerStatuses[1+i]; c.State.Terminated == nil {
				c.State = w.terminated(pod, code, "")
			}
		}
	})
}

func (w *World) updatePod(pod *corev1.Pod, change func(*corev1.Pod)) {
	is := pod.DeepCopy()
	change(is)
	w.must(&server.Request{User: User, Verb: server.Update, Kind: server.Pods, Key: client.ObjectKeyFromObject(pod), Object: is})
}

// Gate is a webhook: it keeps the scheduler from the pod that is to be created.
func Gate(r *server.Request) {
	pod := r.Object.(*corev1.Pod).DeepCopy()
	pod.Labels[webhook], pod.Spec.SchedulingGates = "yes", []corev1.PodSchedulingGate{{Name: webhook}}
	r.Object = pod
}

// webhook names what the webhook adds to pods.
const webhook = "example.com/injected"

// Inject is a webhook: it adds a container, a toleration and a label to the pod that is to be created.
func Inject(r *server.Request) {
	sent, isPod := r.Object.(*corev1.Pod)
	if !isPod || sent.Labels[webhook] != "" {
		return
	}
	pod := sent.DeepCopy()
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[webhook] = "yes"
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: webhook})
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "injected", Image: "proxy"})
	r.Object = pod
}

// Sent returns the pod as its client sent it, without what the webhook has added.
func Sent(pod *corev1.Pod) *corev1.Pod {
	if pod.Labels[webhook] == "" {
		return pod
	}
	sent := pod.DeepCopy()
	delete(sent.Labels, webhook)
	sent.Spec.SchedulingGates = slices.DeleteFunc(sent.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == webhook })
	sent.Spec.Tolerations = slices.DeleteFunc(sent.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == webhook })
	sent.Spec.Containers = slices.DeleteFunc(sent.Spec.Containers, func(c corev1.Container) bool { return c.Name == "injected" })
	return sent
}
