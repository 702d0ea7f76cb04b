package build

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// metaOf returns the metadata that every child of the job has.
func metaOf(job *v1alpha1.TrainingJob, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: job.Namespace, Labels: JobLabels(job), OwnerReferences: Owners(job)}
}

// JobLabels returns the labels of every child of the job.
func JobLabels(job *v1alpha1.TrainingJob) map[string]string {
	return map[string]string{
		v1alpha1.LabelJobName:         job.Name,
		v1alpha1.LabelJobUID:          string(job.UID),
		v1alpha1.KubeflowLabelJobName: job.Name,
	}
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
