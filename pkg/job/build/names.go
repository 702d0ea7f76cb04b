package build

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Address returns the DNS name of a slot, the same in every life: "<job>-<role>-<index>.<job>.<namespace>.svc", or only its first part if each
// replica has a Service of its own.
func Address(job *v1alpha1.TrainingJob, slot state.Slot) string {
	if state.HasReplicaServices(job) {
		return state.HostName(job.Name, slot)
	}
	return state.HostName(job.Name, slot) + "." + job.Name + "." + job.Namespace + ".svc"
}

// JobLabels returns the labels of every child of the job.
func JobLabels(job *v1alpha1.TrainingJob) map[string]string {
	return map[string]string{
		v1alpha1.LabelJobName:         job.Name,
		v1alpha1.LabelJobUID:          string(job.UID),
		v1alpha1.KubeflowLabelJobName: job.Name,
	}
}

// Selector returns the label selector of the pods of one role, as text.
func Selector(job *v1alpha1.TrainingJob, role v1alpha1.Role) string {
	return labels.Set{
		v1alpha1.LabelJobUID: string(job.UID),
		v1alpha1.LabelRole:   strings.ToLower(string(role)),
	}.String()
}

func podLabels(job *v1alpha1.TrainingJob, slot state.Slot, life state.Life) map[string]string {
	own := JobLabels(job)
	role, index := strings.ToLower(string(slot.Role)), strconv.Itoa(slot.Index)
	maps.Copy(own, map[string]string{
		v1alpha1.LabelRole:                 role,
		v1alpha1.LabelIndex:                index,
		v1alpha1.LabelRank:                 strconv.Itoa(state.Rank(&job.Spec, slot)),
		v1alpha1.LabelAttempt:              strconv.Itoa(life.Attempt),
		v1alpha1.LabelLife:                 life.String(),
		v1alpha1.KubeflowLabelReplicaType:  role,
		v1alpha1.KubeflowLabelReplicaIndex: index,
	})
	if slot == state.Leader(&job.Spec) {
		own[v1alpha1.KubeflowLabelJobRole] = "master"
	}
	if served := state.ServedJob(job); served != nil {
		own[v1alpha1.KubeflowLabelOperatorName] = strings.ToLower(served.Kind) + "-controller"
	}
	if state.IsNamed(&job.Spec, slot) {
		own[v1alpha1.LabelNamed] = "true"
	}
	return own
}

// Owners returns the owners of each child: the job, which controls it, or the Kubeflow job that the job serves and then the job itself.
func Owners(job *v1alpha1.TrainingJob) []metav1.OwnerReference {
	own := *metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	if served := state.ServedJob(job); served != nil {
		own.Controller, own.BlockOwnerDeletion = nil, nil
		return []metav1.OwnerReference{*served, own}
	}
	return []metav1.OwnerReference{own}
}

// meetings is how many attempts in a row each meet at a port of their own.
const meetings = 16

// LeaderPort returns the port at which the replicas meet in an attempt; 0 if they do not meet at a port of their leader. If they are restarted in
// place, an old process may still look for its peers when a new leader is there: they do not meet, as each attempt has a port of its own, the first
// or one of the 15 above it. A port that the template declares stays.
func LeaderPort(job *v1alpha1.TrainingJob, attempt int) int32 {
	switch first := leaderPort(job); {
	case !state.FactsOf(job.Spec.Framework).Meet:
		return 0
	case !state.KeepsPods(job) || !state.MovesPort(&job.Spec):
		return first
	default:
		return first + int32(attempt%meetings)
	}
}

func leaderPort(job *v1alpha1.TrainingJob) int32 { return Port(job, state.Leader(&job.Spec).Role) }

// LeaderPorts returns the ports at which the replicas may meet, in whatever attempt and however it restarts.
func LeaderPorts(job *v1alpha1.TrainingJob) []int32 {
	first := leaderPort(job)
	ports := []int32{first}
	for step := int32(1); step < meetings && state.MovesPort(&job.Spec); step++ {
		ports = append(ports, first+step)
	}
	return ports
}

// Meeting returns the leader's port as the values of variables have it, and the variables that these refer to.
func Meeting(job *v1alpha1.TrainingJob) (port string, variables []corev1.EnvVar) {
	if !state.KeepsPods(job) {
		return strconv.Itoa(int(leaderPort(job))), nil
	}
	return "$(" + v1alpha1.EnvLeaderPort + ")", []corev1.EnvVar{ofLife(job, v1alpha1.EnvLeaderPort, "", metadata("annotations", v1alpha1.AnnotationLeaderPort))}
}

// TellPort writes the port of the attempt into a pod that can restart in place; 0 for none.
func TellPort(pod *corev1.Pod, port int32) {
	if state.InPlaceRestart(pod) != "" && port != 0 {
		pod.Annotations[v1alpha1.AnnotationLeaderPort] = strconv.Itoa(int(port))
	}
}

func metadata(kind, key string) *corev1.ObjectFieldSelector {
	return &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata." + kind + "['" + key + "']"}
}
