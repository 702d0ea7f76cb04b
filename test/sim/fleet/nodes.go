package fleet

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/world"
)

// Node returns the name of the i-th node.
func (f *Fleet) Node(i int) string { return f.nodes[i] }

// PodsOn returns the pods that are bound to the node, by name.
func (f *Fleet) PodsOn(node string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, key := range f.bound[node] {
		pods = append(pods, f.Pod(key.Name))
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// Kill ends a node without a word: the control plane learns of it by its silence. It is back after its repair, with nothing running. It
// reports whether a process ran there.
func (f *Fleet) Kill(node string) (hit bool) {
	if f.dead[node] {
		return false
	}
	f.dead[node] = true
	for _, pod := range f.PodsOn(node) {
		hit = hit || pod.Status.Phase == corev1.PodRunning
		f.count(pod, pod)
	}
	f.After(f.Times.Notice, func() { f.tellNode(node, corev1.NodeReady, corev1.ConditionUnknown) })
	f.After(f.Times.Repair, func() { f.revive(node) })
	return hit
}

// revive brings a node back: its kubelet ends what the control plane still has of it.
func (f *Fleet) revive(node string) {
	pods := f.PodsOn(node)
	delete(f.dead, node)
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
			f.end(client.ObjectKeyFromObject(pod), pod.UID)
		case pod.Status.Phase == corev1.PodPending:
			f.start(client.ObjectKeyFromObject(pod), pod.UID)
		default:
			f.Exit(pod, 255)
		}
	}
	f.tellNode(node, corev1.NodeReady, corev1.ConditionTrue)
}

// Tell has a node say something of itself.
func (f *Fleet) Tell(node string, kind corev1.NodeConditionType, status corev1.ConditionStatus) {
	f.tellNode(node, kind, status)
}

func (f *Fleet) createNode(name string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	f.do(&server.Request{User: world.NodeController, Verb: server.Create, Kind: server.Nodes, Key: client.ObjectKeyFromObject(node), Object: node})
	f.tellNode(name, corev1.NodeReady, corev1.ConditionTrue)
}

// tellNode writes a condition of a node. That it is ready is always the first.
func (f *Fleet) tellNode(name string, kind corev1.NodeConditionType, status corev1.ConditionStatus) {
	node, _ := f.Get(server.Nodes, "", name).(*corev1.Node)
	node = node.DeepCopy()
	is := corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(f.Clock.now)}
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			node.Status.Conditions[i] = is
			kind = ""
		}
	}
	if kind != "" {
		node.Status.Conditions = append(node.Status.Conditions, is)
	}
	f.do(&server.Request{User: world.NodeController, Verb: server.Update, Kind: server.Nodes, Status: true, Key: client.ObjectKeyFromObject(node), Object: node})
}
