package world

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/sim/server"
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
	nodes := slices.DeleteFunc(w.readyNodes(), func(name string) bool { return free[name] < 1 })
	if w.NoNodes || w.Homeless[pod.Spec.Hostname] || len(nodes) == 0 {
		return ""
	}
	if others := slices.DeleteFunc(slices.Clone(nodes), func(name string) bool { return Shuns(pod, name) }); len(others) > 0 {
		nodes = others
	}
	node := nodes[w.bound%len(nodes)]
	w.bound++
	if home := Prefers(pod); slices.Contains(nodes, home) {
		node = home
	}
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

// Prefers returns the node that the pod's affinity draws it to; empty for none.
func Prefers(pod *corev1.Pod) string {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		for _, term := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			for _, field := range term.Preference.MatchFields {
				if field.Operator == corev1.NodeSelectorOpIn {
					return field.Values[0]
				}
			}
		}
	}
	return ""
}

// Shuns reports whether the pod prefers every other node to this one, as strongly as a pod can.
func Shuns(pod *corev1.Pod, node string) bool {
	a := pod.Spec.Affinity
	return a != nil && a.NodeAffinity != nil && slices.ContainsFunc(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution, func(term corev1.PreferredSchedulingTerm) bool {
		return term.Weight == 100 && Names(term.Preference, corev1.NodeSelectorOpNotIn, node)
	})
}

// Names reports whether the term names the node with the operator.
func Names(term corev1.NodeSelectorTerm, operator corev1.NodeSelectorOperator, node string) bool {
	return slices.ContainsFunc(term.MatchFields, func(field corev1.NodeSelectorRequirement) bool {
		return field.Operator == operator && slices.Contains(field.Values, node)
	})
}
