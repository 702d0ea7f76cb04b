package build

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Schedule sets the pod's scheduler and priority class as the job says, where its template does not.
func Schedule(pod *corev1.Pod, scheduling *v1alpha1.Scheduling) {
	pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, scheduling.SchedulerName)
	pod.Spec.PriorityClassName = cmp.Or(pod.Spec.PriorityClassName, scheduling.PriorityClassName)
}

// preferNear is the weight of a preferred topology: the highest there is.
const preferNear = 100

// KeepNear gives the pod an affinity to the other pods of its attempt within one domain of the topology.
func KeepNear(pod *corev1.Pod, job *v1alpha1.TrainingJob, topology *v1alpha1.Topology) {
	if topology == nil {
		return
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.PodAffinity == nil {
		pod.Spec.Affinity.PodAffinity = &corev1.PodAffinity{}
	}
	affinity := pod.Spec.Affinity.PodAffinity
	peers := corev1.PodAffinityTerm{TopologyKey: topology.Key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
		v1alpha1.LabelJobUID: string(job.UID), v1alpha1.LabelAttempt: pod.Labels[v1alpha1.LabelAttempt],
	}}}
	if topology.Mode == v1alpha1.TopologyRequired {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = append(affinity.RequiredDuringSchedulingIgnoredDuringExecution, peers)
		return
	}
	affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
		corev1.WeightedPodAffinityTerm{Weight: preferNear, PodAffinityTerm: peers})
}
