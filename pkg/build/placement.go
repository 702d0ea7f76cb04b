package build

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// tolerationSeconds is how long a pod stays bound to a node that is not ready, instead of Kubernetes' 300.
const tolerationSeconds = 30

// tolerateBriefly makes Kubernetes evict the pod from a failed node soon, unless the template sets a time.
func tolerateBriefly(spec *corev1.PodSpec) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		taint := corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute}
		own := func(t corev1.Toleration) bool {
			return (t.Key == "" || t.Key == taint.Key) && (t.Effect == "" || t.Effect == taint.Effect)
		}
		if !slices.ContainsFunc(spec.Tolerations, own) {
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: taint.Effect, TolerationSeconds: ptr.To[int64](tolerationSeconds),
			})
		}
	}
}

// avoid has the pod prefer any other node to these, whatever else it prefers. The scheduler may still choose one of them.
func avoid(pod *corev1.Pod, nodes []string) {
	if len(nodes) > 0 {
		prefer(pod, off(nodes))
	}
}

// Prefer lets the pod prefer the node above all others. There it finds what its replica left, such as a checkpoint on a local disk or a
// warm cache. An empty name sets no preference.
func Prefer(pod *corev1.Pod, node string) {
	if node != "" {
		prefer(pod, []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}})
	}
}

// prefer has the pod take a node with these fields if it can.
func prefer(pod *corev1.Pod, fields []corev1.NodeSelectorRequirement) {
	affinity := nodeAffinity(pod)
	affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
		corev1.PreferredSchedulingTerm{Weight: 100, Preference: corev1.NodeSelectorTerm{MatchFields: fields}})
}

func nodeAffinity(pod *corev1.Pod) *corev1.NodeAffinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	return pod.Spec.Affinity.NodeAffinity
}

// off returns the requirement of each other node than these; a requirement on a field takes one value only.
func off(nodes []string) []corev1.NodeSelectorRequirement {
	var list []corev1.NodeSelectorRequirement
	for _, node := range nodes {
		list = append(list, corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{node}})
	}
	return list
}
