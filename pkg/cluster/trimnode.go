package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/pkg/nodes"
)

// trimNode returns the function that trims a node to what pkg/nodes reads. Heartbeats then change nothing, nor do conditions that
// are not True or no signals.
func trimNode(signals nodes.Signals) func(any) (any, error) {
	return func(o any) (any, error) {
		node, ok := o.(*corev1.Node)
		if !ok {
			return o, nil
		}
		trimmed := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels},
			Spec:       corev1.NodeSpec{Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable},
			Status:     corev1.NodeStatus{Allocatable: node.Status.Allocatable, Capacity: devices(node.Status.Capacity)},
		}
		for i := range node.Status.Conditions {
			c := &node.Status.Conditions[i]
			kept := corev1.NodeCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime}
			switch isSignal := signals.Heeds(c); {
			case c.Type != corev1.NodeReady && !isSignal:
				continue
			case isSignal:
				kept.Reason, kept.Message = c.Reason, c.Message
			}
			trimmed.Status.Conditions = append(trimmed.Status.Conditions, kept)
		}
		return trimmed, nil
	}
}

// devices returns the part of a capacity that device plugins report; nil if there is none.
func devices(capacity corev1.ResourceList) corev1.ResourceList {
	var kept corev1.ResourceList
	for name, quantity := range capacity {
		if nodes.IsDevice(name) {
			if kept == nil {
				kept = corev1.ResourceList{}
			}
			kept[name] = quantity
		}
	}
	return kept
}
