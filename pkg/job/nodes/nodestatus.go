package nodes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Of returns what the operator knows of a node. It is lost once it has not been ready for lostAfter, or at once if it has the taint
// out-of-service or a signal with the action Lost. Signals with other actions show that it is unhealthy.
func Of(node *corev1.Node, lostAfter time.Duration, signals Signals) state.Node {
	n := state.Node{Name: node.Name}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			n.Since = c.LastTransitionTime.Time
			n.Loss = state.Trouble{
				Reason:  v1alpha1.ReasonNodeLost,
				Message: fmt.Sprintf("not ready for %v", lostAfter), Time: n.Since.Add(lostAfter),
			}
		}
	}
	if action, trouble := signals.of(node); action == state.LoseNode {
		n.Since, n.Loss = trouble.Time, trouble
	} else if action > state.IgnoreNode {
		trouble.Reason = v1alpha1.ReasonNodeUnhealthy
		n.Unhealthy, n.Action = trouble, action
	}
	for i := range node.Spec.Taints {
		if t := &node.Spec.Taints[i]; t.Key == corev1.TaintNodeOutOfService {
			n.Loss = troubleOfTaint(t)
			n.Since = n.Loss.Time
		}
	}
	return n
}

// BrokenBecause returns the reason if the node's own status shows that it is broken, whatever happened to pods on it; else it is empty.
// Cordons and most taints show what an administrator intends. Only out-of-service and the taints that make a node lost count.
func BrokenBecause(node *corev1.Node, now time.Time, lostAfter time.Duration, signals Signals) string {
	matches := func(c corev1.NodeCondition) bool { return signals.Match(&c) }
	switch n := Of(node, lostAfter, signals); {
	case n.LostBy(now):
		return n.Loss.Reason
	case slices.ContainsFunc(node.Status.Conditions, matches):
		return v1alpha1.ReasonNodeUnhealthy
	case lacksDevices(node):
		return v1alpha1.ReasonDeviceUnhealthy
	default:
		return ""
	}
}

// lacksDevices reports whether the node offers fewer devices than it has: the kubelet does not count unhealthy ones as allocatable.
// Source: k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/manager.go, GetCapacity.
func lacksDevices(node *corev1.Node) bool {
	for name, capacity := range node.Status.Capacity {
		if allocatable, offered := node.Status.Allocatable[name]; IsDevice(name) && offered && allocatable.Cmp(capacity) < 0 {
			return true
		}
	}
	return false
}

// IsDevice reports whether the resource is one of a device plugin, such as nvidia.com/gpu.
func IsDevice(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.HasPrefix(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// Deleted returns a node that was deleted while it had pods.
func Deleted(name string, now time.Time) state.Node {
	return state.Node{Name: name, Since: now, Loss: state.Trouble{Reason: v1alpha1.ReasonNodeDeleted, Message: "the node was deleted", Time: now}}
}
