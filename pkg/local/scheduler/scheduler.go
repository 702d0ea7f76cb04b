// Package scheduler chooses nodes by what the operator writes into pods: the node that a pod prefers, and the nodes that it avoids.
package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// strongest is the largest weight of a preference.
const strongest = 100

// Place returns the node for the pod, of nodes that take it: the one that it prefers, else the next in turn of those that it does not
// avoid, else the next in turn. It is empty if there is no node.
func Place(pod *corev1.Pod, nodes []string, turn int) string {
	if home := Prefers(pod); slices.Contains(nodes, home) {
		return home
	}
	if others := slices.DeleteFunc(slices.Clone(nodes), func(name string) bool { return Avoids(pod, name) }); len(others) > 0 {
		nodes = others
	}
	if len(nodes) == 0 {
		return ""
	}
	return nodes[turn%len(nodes)]
}

// Prefers returns the node that the pod's affinity prefers; empty for none.
func Prefers(pod *corev1.Pod) string {
	for _, term := range preferences(pod) {
		for _, field := range term.Preference.MatchFields {
			if field.Operator == corev1.NodeSelectorOpIn {
				return field.Values[0]
			}
		}
	}
	return ""
}

// Avoids reports whether the pod prefers every other node to this one, as strongly as a pod can.
func Avoids(pod *corev1.Pod, node string) bool {
	return slices.ContainsFunc(preferences(pod), func(term corev1.PreferredSchedulingTerm) bool {
		return term.Weight == strongest && Names(term.Preference, corev1.NodeSelectorOpNotIn, node)
	})
}

// Names reports whether the term names the node with the operator.
func Names(term corev1.NodeSelectorTerm, operator corev1.NodeSelectorOperator, node string) bool {
	return slices.ContainsFunc(term.MatchFields, func(field corev1.NodeSelectorRequirement) bool {
		return field.Operator == operator && slices.Contains(field.Values, node)
	})
}

func preferences(pod *corev1.Pod) []corev1.PreferredSchedulingTerm {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		return a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}
