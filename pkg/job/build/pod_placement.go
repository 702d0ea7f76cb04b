package build

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
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

// Exclude keeps the pod off the nodes, and notes their names instead of those that a template may name.
func Exclude(pod *corev1.Pod, nodes []string) {
	delete(pod.Annotations, v1alpha1.AnnotationExcludedNodes)
	if len(nodes) == 0 {
		return
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha1.AnnotationExcludedNodes, strings.Join(nodes, ","))
	affinity := nodeAffinity(pod)
	isNew := affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil
	affinity.RequiredDuringSchedulingIgnoredDuringExecution = cmp.Or(affinity.RequiredDuringSchedulingIgnoredDuringExecution,
		&corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, 1)})
	terms := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms { // a node may match any of them; none matches one that is empty
		if term := &terms[i]; isNew || len(term.MatchExpressions)+len(term.MatchFields) > 0 {
			term.MatchFields = append(term.MatchFields, allBut(nodes)...)
		}
	}
}

// allBut returns the requirements for every other node than these. A requirement on a field takes one value only.
func allBut(nodes []string) []corev1.NodeSelectorRequirement {
	var others []corev1.NodeSelectorRequirement
	for _, node := range nodes {
		others = append(others, corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpNotIn, Values: []string{node}})
	}
	return others
}

func nodeAffinity(pod *corev1.Pod) *corev1.NodeAffinity {
	pod.Spec.Affinity = cmp.Or(pod.Spec.Affinity, &corev1.Affinity{})
	pod.Spec.Affinity.NodeAffinity = cmp.Or(pod.Spec.Affinity.NodeAffinity, &corev1.NodeAffinity{})
	return pod.Spec.Affinity.NodeAffinity
}

// avoid has the pod prefer any other node to these, whatever else it prefers. The scheduler may still choose one of them.
func avoid(pod *corev1.Pod, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	affinity := nodeAffinity(pod)
	affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
		corev1.PreferredSchedulingTerm{Weight: 100, Preference: corev1.NodeSelectorTerm{MatchFields: allBut(nodes)}})
}

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
	pod.Spec.Affinity = cmp.Or(pod.Spec.Affinity, &corev1.Affinity{})
	pod.Spec.Affinity.PodAffinity = cmp.Or(pod.Spec.Affinity.PodAffinity, &corev1.PodAffinity{})
	affinity, term := pod.Spec.Affinity.PodAffinity, corev1.PodAffinityTerm{TopologyKey: topology.Key, LabelSelector: &metav1.LabelSelector{
		MatchLabels:      map[string]string{v1alpha1.LabelJobUID: string(job.UID), v1alpha1.LabelAttempt: pod.Labels[v1alpha1.LabelAttempt]},
		MatchExpressions: inDomain(job),
	}}
	if topology.Mode == v1alpha1.TopologyRequired {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = append(affinity.RequiredDuringSchedulingIgnoredDuringExecution, term)
		return
	}
	affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
		corev1.WeightedPodAffinityTerm{Weight: preferNear, PodAffinityTerm: term})
}

// inDomain selects the pods of the job's roles that are to be near each other; nothing is selected by if all are.
func inDomain(job *v1alpha1.TrainingJob) []metav1.LabelSelectorRequirement {
	var names []string
	roles := job.Spec.Roles()
	for _, role := range roles {
		if state.InDomain(&job.Spec, role) {
			names = append(names, strings.ToLower(string(role)))
		}
	}
	if len(names) == len(roles) {
		return nil
	}
	return []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelRole, Operator: metav1.LabelSelectorOpIn, Values: names}}
}
