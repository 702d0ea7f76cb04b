//go:build e2e

package e2e

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// named selects the node of that name, whatever its labels.
func named(operator corev1.NodeSelectorOperator, node string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: operator, Values: []string{node}}
}

// preferring draws the role's pods to a node, as long as they may go there.
func preferring(node string) replicaOption {
	return nodeAffinity(func(a *corev1.NodeAffinity) {
		a.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{
			Weight: 100, Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{named(corev1.NodeSelectorOpIn, node)}},
		}}
	})
}

// only keeps the role's pods on these nodes.
func only(nodes ...string) replicaOption {
	return nodeAffinity(func(a *corev1.NodeAffinity) {
		required := &corev1.NodeSelector{}
		for _, node := range nodes {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
				MatchFields: []corev1.NodeSelectorRequirement{named(corev1.NodeSelectorOpIn, node)},
			})
		}
		a.RequiredDuringSchedulingIgnoredDuringExecution = required
	})
}

// off keeps the role's pods off these nodes.
func off(nodes ...string) replicaOption {
	return nodeAffinity(func(a *corev1.NodeAffinity) {
		var term corev1.NodeSelectorTerm
		for _, node := range nodes {
			term.MatchFields = append(term.MatchFields, named(corev1.NodeSelectorOpNotIn, node))
		}
		a.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
	})
}

func nodeAffinity(how func(*corev1.NodeAffinity)) replicaOption {
	return func(r *v1alpha1.ReplicaSpec) {
		spec := &r.Template.Spec
		if spec.Affinity == nil {
			spec.Affinity = &corev1.Affinity{}
		}
		if spec.Affinity.NodeAffinity == nil {
			spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
		}
		how(spec.Affinity.NodeAffinity)
	}
}

// claiming makes the role's pods mount the claim of that name.
func claiming(claim string) replicaOption {
	return func(r *v1alpha1.ReplicaSpec) {
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
		r.Template.Spec.Volumes = append(r.Template.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: source})
	}
}
