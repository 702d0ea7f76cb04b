// Package scheduler chooses nodes by what the operator writes into pods: the nodes that they avoid.
package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// strongest is the largest weight of a preference.
const strongest = 100

// Place returns the node for the pod, of nodes that take it and that it does not exclude: the next in turn of those that it does not avoid, else the
// next in turn. It is empty if there is no node.
func Place(pod *corev1.Pod, nodes []string, turn int) string {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(name string) bool { return Excludes(pod, name) })
	if others := slices.DeleteFunc(slices.Clone(nodes), func(name string) bool { return Avoids(pod, name) }); len(others) > 0 {
		nodes = others
	}
	if len(nodes) == 0 {
		return ""
	}
	return nodes[turn%len(nodes)]
}

// Avoids reports whether the pod prefers every other node to this one, as strongly as a pod can.
func Avoids(pod *corev1.Pod, node string) bool {
	return slices.ContainsFunc(preferences(pod), func(term corev1.PreferredSchedulingTerm) bool {
		return term.Weight == strongest && excludes(term.Preference, node)
	})
}

// Excludes reports whether the pod cannot be on the node: no term that it requires allows that.
func Excludes(pod *corev1.Pod, node string) bool {
	if a := pod.Spec.Affinity; a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return !slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool { return !excludes(term, node) })
}

// excludes reports whether the term is for all nodes but this one.
func excludes(term corev1.NodeSelectorTerm, node string) bool {
	return slices.ContainsFunc(term.MatchFields, func(field corev1.NodeSelectorRequirement) bool {
		return field.Operator == corev1.NodeSelectorOpNotIn && slices.Contains(field.Values, node)
	})
}

func preferences(pod *corev1.Pod) []corev1.PreferredSchedulingTerm {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		return a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}
