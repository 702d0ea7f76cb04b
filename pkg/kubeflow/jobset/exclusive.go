package jobset

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// exclusiveTopology is an annotation of a JobSet or of a replicated job: a label of nodes. The nodes with one value of it run the pods of one Job, and of
// no other Job of that priority. With nodeSelectorStrategy an administrator has labeled the nodes with the names of the Jobs.
const (
	exclusiveTopology    = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	nodeSelectorStrategy = "alpha.jobset.sigs.k8s.io/node-selector"
)

// annotation returns that annotation of the replicated job, or else of the JobSet.
func (s *JobSet) annotation(job *ReplicatedJob, name string) string {
	return cmp.Or(job.Template.Annotations[name], s.Annotations[name])
}

// placeExclusively gives the pods the affinities that JobSet's webhook gives the first pod of each Job, whose domain it then selects for the others. Here
// all pods of a Job have them, and the API server adds the values of the pod's own labels, so one template is enough. Source:
// setExclusiveAffinities in pkg/webhooks/pod_webhook.go of JobSet 0.12.
func placeExclusively(spec *corev1.PodSpec, topology string) {
	ofJobSets := func() corev1.PodAffinityTerm {
		isThere := metav1.LabelSelectorRequirement{Key: prefix + "jobset-name", Operator: metav1.LabelSelectorOpExists}
		return corev1.PodAffinityTerm{
			TopologyKey: topology, NamespaceSelector: &metav1.LabelSelector{},
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{isThere}},
		}
	}
	together, apart := ofJobSets(), ofJobSets()
	together.MatchLabelKeys = []string{prefix + "job-key"}
	apart.MismatchLabelKeys, apart.MatchLabelKeys = together.MatchLabelKeys, []string{prefix + "priority"} // JobSet's webhook writes the priority

	affinity := cmp.Or(spec.Affinity, &corev1.Affinity{})
	with, without := cmp.Or(affinity.PodAffinity, &corev1.PodAffinity{}), cmp.Or(affinity.PodAntiAffinity, &corev1.PodAntiAffinity{})
	with.RequiredDuringSchedulingIgnoredDuringExecution = append(with.RequiredDuringSchedulingIgnoredDuringExecution, together)
	without.RequiredDuringSchedulingIgnoredDuringExecution = append(without.RequiredDuringSchedulingIgnoredDuringExecution, apart)
	affinity.PodAffinity, affinity.PodAntiAffinity, spec.Affinity = with, without, affinity
}
