package testbed

import corev1 "k8s.io/api/core/v1"

// RealNode is the label of the lab's real nodes.
const RealNode = "lab.trainingjob.dev/real"

// IsFake reports whether kwok plays the node, as on a lab.
func IsFake(node *corev1.Node) bool { return node.Annotations["kwok.x-k8s.io/node"] == "fake" }

// Readiness returns the status of the node's condition Ready; empty if it has none yet.
func Readiness(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// IsReady reports whether the node says that it works.
func IsReady(node *corev1.Node) bool { return Readiness(node) == corev1.ConditionTrue }

// TakesPods reports whether any pod can go to the node and run there.
func TakesPods(node *corev1.Node) bool {
	return IsReady(node) && len(node.Spec.Taints) == 0 && !node.Spec.Unschedulable
}

// NodeNamed returns a Node that is good for patches.
func NodeNamed(name string) *corev1.Node {
	node := &corev1.Node{}
	node.Name = name
	return node
}
