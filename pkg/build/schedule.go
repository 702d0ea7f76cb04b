package build

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Schedule sets the pod's scheduler and priority class by the job, where its template has none.
func Schedule(pod *corev1.Pod, scheduling *v1alpha1.Scheduling) {
	pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, scheduling.SchedulerName)
	pod.Spec.PriorityClassName = cmp.Or(pod.Spec.PriorityClassName, scheduling.PriorityClassName)
}

// preferNear is the weight of a preferred topology: the highest there is.
const preferNear = 100

// KeepNear gives the pod an affinity to the other pods of its attempt that are to be within one domain of the topology.
func KeepNear(pod *corev1.Pod, job *v1alpha1.TrainingJob, topology *v1alpha1.Topology) {
	if topology == nil {
		return
	}
	near(pod, topology, &metav1.LabelSelector{MatchLabels: map[string]string{
		v1alpha1.LabelJobUID: string(job.UID), v1alpha1.LabelAttempt: pod.Labels[v1alpha1.LabelAttempt],
	}, MatchExpressions: inDomain(job)})
}

// inDomain selects the pods of the job's roles that are to be near each other; nothing is selected by if all are.
func inDomain(job *v1alpha1.TrainingJob) []metav1.LabelSelectorRequirement {
	roles := state.RolesInDomain(&job.Spec)
	if roles == nil {
		return nil
	}
	names := make([]string, 0, len(roles))
	for _, role := range roles {
		names = append(names, strings.ToLower(string(role)))
	}
	return []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelRole, Operator: metav1.LabelSelectorOpIn, Values: names}}
}

// KeepSpareNear gives the spare an affinity to the replicas of whatever attempt: it outlasts theirs. There is none to tiers of
// Volcano's, which no label of a node has.
func KeepSpareNear(pod *corev1.Pod, job *v1alpha1.TrainingJob, topology *v1alpha1.Topology) {
	if topology == nil || topology.Tier != nil {
		return
	}
	near(pod, topology, &metav1.LabelSelector{
		MatchLabels: map[string]string{v1alpha1.LabelJobUID: string(job.UID)},
		MatchExpressions: append([]metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelAttempt, Operator: metav1.LabelSelectorOpExists}},
			inDomain(job)...),
	})
}

// near gives the pod an affinity to its peers.
func near(pod *corev1.Pod, topology *v1alpha1.Topology, peers *metav1.LabelSelector) {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.PodAffinity == nil {
		pod.Spec.Affinity.PodAffinity = &corev1.PodAffinity{}
	}
	affinity, term := pod.Spec.Affinity.PodAffinity, corev1.PodAffinityTerm{TopologyKey: topology.Key, LabelSelector: peers}
	if topology.Mode == v1alpha1.TopologyRequired {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = append(affinity.RequiredDuringSchedulingIgnoredDuringExecution, term)
		return
	}
	affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
		corev1.WeightedPodAffinityTerm{Weight: preferNear, PodAffinityTerm: term})
}
