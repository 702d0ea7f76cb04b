package build

import (
	"maps"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
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
