package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestNodesAreNumberedRackedAndEquipped(t *testing.T) {
	node := node(41, 8)
	if i, ok := number(node.Name); !ok || i != 41 {
		t.Errorf("%s is number %d, %t", node.Name, i, ok)
	}
	for label, want := range map[string]string{
		corev1.LabelHostname: "gpu-41", "topology.kubernetes.io/rack": "rack-5", corev1.LabelTopologyZone: "zone-1", "type": "fake-gpu",
	} {
		if got := node.Labels[label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	if gpus := node.Status.Allocatable["nvidia.com/gpu"]; gpus.Value() != 8 {
		t.Errorf("%s GPUs", gpus.String())
	}
	if _, ok := number("node-41"); ok {
		t.Error("node-41 is not one of the lab's")
	}
}

func TestANodeIsReadyOnceItsTaintsAreGone(t *testing.T) {
	node := corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	if !isReady(node) {
		t.Error("a Ready node without taints is ready")
	}
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady}}
	if isReady(node) {
		t.Error("no pod fits on a node with its first taint")
	}
}
