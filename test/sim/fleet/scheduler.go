package fleet

import (
	"container/heap"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/scheduler"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/world"
)

// bindEvery is for how long pods are gathered that are to get nodes, if only so many get one a second.
const bindEvery = 4

// bindAll gives the pods that wait their nodes, as many as may get one now.
func (f *Fleet) bindAll() {
	if f.Times.PodsPerSecond > 0 && f.mayBind < float64(min(len(f.unbound), bindEvery*f.Times.PodsPerSecond)) {
		return
	}
	var waiting []client.ObjectKey
	for i, key := range f.unbound {
		if f.Times.PodsPerSecond > 0 && f.mayBind < 1 {
			waiting = append(waiting, f.unbound[i:]...)
			break
		}
		pod := f.Pod(key.Name)
		switch {
		case pod == nil || pod.Spec.NodeName != "":
		case f.bind(pod):
			f.mayBind--
		default:
			waiting = append(waiting, key)
		}
	}
	f.unbound = waiting
}

// bind gives the pod the first node with room, of those that it does not shun if there is one; it reports whether there is one.
func (f *Fleet) bind(pod *corev1.Pod) bool {
	at := f.first(pod, scheduler.Avoids)
	if at < 0 {
		at = f.first(pod, func(*corev1.Pod, string) bool { return false })
	}
	if at < 0 {
		return false
	}
	node := f.nodes[at]
	if slices.ContainsFunc(f.Status().AvoidedNodes, func(n v1alpha1.AvoidedNode) bool {
		return n.Name == node && f.Clock.now.Before(n.ExpirationTime.Time)
	}) {
		f.OnAvoided++
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	f.do(&server.Request{User: world.Scheduler, Verb: server.Update, Kind: server.Pods, Key: client.ObjectKeyFromObject(pod), Object: bound})
	return true
}

// first returns the first node that takes the pod, but those that are not wanted; -1 for none.
func (f *Fleet) first(pod *corev1.Pod, isUnwanted func(*corev1.Pod, string) bool) int {
	at := -1
	var others []int
	for at < 0 && len(f.roomy) > 0 {
		next := heap.Pop(&f.roomy).(int)
		switch {
		case f.room[next] < 1: // it comes back when there is room again
			f.isRoomy[next] = false
			continue
		case !isUnwanted(pod, f.nodes[next]) && f.takes(next):
			at = next
		}
		others = append(others, next)
	}
	for _, i := range others {
		heap.Push(&f.roomy, i)
	}
	return at
}

// takes reports whether a pod can be bound to the node, as far as the control plane knows.
func (f *Fleet) takes(at int) bool {
	if f.room[at] < 1 {
		return false
	}
	node, _ := f.Get(server.Nodes, "", f.nodes[at]).(*corev1.Node)
	return node.Status.Conditions[0].Status == corev1.ConditionTrue
}

// give changes the room on a node by n pods.
func (f *Fleet) give(node string, n int) {
	at := f.numbers[node]
	if f.room[at] += n; f.room[at] > 0 && !f.isRoomy[at] {
		f.isRoomy[at] = true
		heap.Push(&f.roomy, at)
	}
}
