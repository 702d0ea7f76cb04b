package world

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/local/scheduler"
	"github.com/trainingjob/operator/pkg/local/server"
)

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
	nodes := slices.DeleteFunc(w.readyNodes(), func(name string) bool { return free[name] < 1 || scheduler.Excludes(pod, name) })
	if w.NoNodes || w.lacksClaim(pod) || w.Homeless[pod.Spec.Hostname] || len(nodes) == 0 {
		return ""
	}
	node := scheduler.Place(pod, nodes, w.bound)
	if w.Habits.Spread {
		node = nodes[w.bound%len(nodes)]
	}
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

// lacksClaim reports whether the pod has a claim that is not there.
func (w *World) lacksClaim(pod *corev1.Pod) bool {
	return w.NoClaims && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

func (w *World) tellNoPlace(pod *corev1.Pod) {
	if len(pod.Status.Conditions) > 0 {
		return // it has been told
	}
	why := "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
	if w.lacksClaim(pod) {
		why = `0/3 nodes are available: persistentvolumeclaim "data" not found. not found.`
	}
	w.writePod(Scheduler, pod, func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: why, LastTransitionTime: w.second()}}
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
