package build

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
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

// avoid keeps the pod off the nodes, whatever else its affinity asks for. A template that names its nodes itself gets one of them, if
// need be one that is to be avoided: there is no other for it.
func avoid(pod *corev1.Pod, nodes state.Avoided) {
	delete(pod.Annotations, v1alpha1.AnnotationAvoidedNodes) // a template has none to say
	if named := namedNodes(&pod.Spec); len(named) > 0 && containsAll(nodes.Required, named) {
		nodes = state.Avoided{Preferred: append(slices.Clone(nodes.Required), nodes.Preferred...)}
	}
	if len(nodes.Preferred) > 0 {
		prefer(pod, off(nodes.Preferred))
	}
	if len(nodes.Required) > 0 {
		exclude(nodeAffinity(pod), nodes.Required)
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[v1alpha1.AnnotationAvoidedNodes] = strings.Join(nodes.Required, ",")
	}
}

// Prefer has the pod take the node if it can, whatever else it prefers: what its replica left there, such as a checkpoint on a local disk
// or a warm cache, is found again. An empty name asks for nothing.
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

// namedNodes returns the nodes that the template names as the only ones it takes; none if it takes others too.
func namedNodes(spec *corev1.PodSpec) []string {
	if spec.NodeName != "" {
		return []string{spec.NodeName}
	}
	if host := spec.NodeSelector[corev1.LabelHostname]; host != "" {
		return []string{host}
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	var all []string
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		isNames := func(r corev1.NodeSelectorRequirement) bool {
			return r.Operator == corev1.NodeSelectorOpIn && (r.Key == metav1.ObjectNameField || r.Key == corev1.LabelHostname)
		}
		requirements := slices.Concat(term.MatchFields, term.MatchExpressions)
		i := slices.IndexFunc(requirements, isNames)
		if i < 0 {
			return nil
		}
		all = append(all, requirements[i].Values...)
	}
	return all
}

func containsAll(list, of []string) bool {
	return !slices.ContainsFunc(of, func(one string) bool { return !slices.Contains(list, one) })
}

// exclude adds the nodes to each term of the required affinity: the pod fits where one of them does.
func exclude(affinity *corev1.NodeAffinity, nodes []string) {
	required := &affinity.RequiredDuringSchedulingIgnoredDuringExecution
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
