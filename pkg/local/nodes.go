package local

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/local/scheduler"
	"github.com/trainingjob/operator/pkg/local/server"
)

// NodeName returns the name of the i-th node, from 1.
func NodeName(i int) string { return fmt.Sprintf("node-%d", i) }

func (r *run) createNodes() {
	for i := range r.Nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeName(i + 1)}}
		r.do(&server.Request{Verb: server.Create, Kind: server.Nodes, Key: client.ObjectKey{Name: node.Name}, Object: node})
		r.setNode(node.Name, corev1.ConditionTrue)
	}
}

// setNode writes whether the node is ready.
func (r *run) setNode(name string, ready corev1.ConditionStatus) {
	node := r.server.Get(server.Nodes, "", name).DeepCopyObject().(*corev1.Node)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.Now()}}
	r.do(&server.Request{Verb: server.Update, Kind: server.Nodes, Status: true, Key: client.ObjectKeyFromObject(node), Object: node})
}

// loseNode ends all processes on the node, and writes what the control plane writes about a node that has not answered for a while.
func (r *run) loseNode(name string) {
	r.kubelet.TurnOff(name)
	r.setNode(name, corev1.ConditionUnknown)
	for _, pod := range r.pods() {
		if pod.Spec.NodeName != name || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		is := pod.DeepCopy()
		for i := range is.Status.Conditions {
			if c := &is.Status.Conditions[i]; c.Type == corev1.PodReady {
				c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, "", metav1.Now()
			}
		}
		r.do(&server.Request{Verb: server.Update, Kind: server.Pods, Status: true, Key: client.ObjectKeyFromObject(is), Object: is})
	}
}

// place gives the pod a node: of those with the fewest pods, the one that the scheduler chooses.
func (r *run) place(pod *corev1.Pod) {
	count := map[string]int{}
	for _, other := range r.pods() {
		count[other.Spec.NodeName]++
	}
	var ready []string
	for _, o := range r.server.List(server.Nodes) {
		if node := o.(*corev1.Node); node.Status.Conditions[0].Status == corev1.ConditionTrue {
			ready = append(ready, node.Name)
		}
	}
	slices.SortStableFunc(ready, func(a, b string) int { return count[a] - count[b] })
	name := scheduler.Place(pod, ready, 0)
	if name == "" {
		return
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = name
	r.do(&server.Request{Verb: server.Update, Kind: server.Pods, Key: client.ObjectKeyFromObject(pod), Object: bound})
}
