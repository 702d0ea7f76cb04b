//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

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
			Weight: 50, Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{named(corev1.NodeSelectorOpIn, node)}},
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

// claim makes a claim that is bound to a volume until the spec ends.
func claim(name string) {
	GinkgoHelper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	once := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: here.namespace + "-" + name}}
	volume.Spec = corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: once, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		ClaimRef:               &corev1.ObjectReference{Namespace: here.namespace, Name: name},
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}},
	}
	Expect(kube.Create(here.ctx, volume)).To(Succeed())
	DeferCleanup(func() { Expect(kube.Delete(here.ctx, volume)).To(Succeed()) })
	asked := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: here.namespace}}
	asked.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes: once, StorageClassName: ptr.To(""), VolumeName: volume.Name, Resources: corev1.VolumeResourceRequirements{Requests: size},
	}
	Expect(kube.Create(here.ctx, asked)).To(Succeed())
}
