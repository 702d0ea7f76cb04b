package build

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// tolerationSeconds is how long a pod stays bound to a node that is not ready, instead of Kubernetes' 300.
const tolerationSeconds = 30

// tolerateBriefly makes Kubernetes evict the pod from a broken node soon, unless the template says for how long.
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

// avoid keeps the pod off the nodes, whatever else its affinity asks for: it fits where one of its terms does.
func avoid(spec *corev1.PodSpec, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := &spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if *required == nil || len((*required).NodeSelectorTerms) == 0 {
		*required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: off(nodes)}}}
		return
	}
	for i := range (*required).NodeSelectorTerms {
		if term := &(*required).NodeSelectorTerms[i]; len(term.MatchExpressions)+len(term.MatchFields) > 0 { // an empty one fits no node
			term.MatchFields = append(term.MatchFields, off(nodes)...)
		}
	}
}

// off returns the requirement of each other node than these; a requirement on a field takes one value only.
func off(nodes []string) []corev1.NodeSelectorRequirement {
	var list []corev1.NodeSelectorRequirement
	for _, node := range nodes {
		list = append(list, corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{node}})
	}
	return list
}
