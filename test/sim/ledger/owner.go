package ledger

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// OwnerOf returns the reference to the TrainingJob among the owners of a child; nil if there is none.
func OwnerOf(child metav1.Object) *metav1.OwnerReference {
	refs := child.GetOwnerReferences()
	if i := slices.IndexFunc(refs, func(ref metav1.OwnerReference) bool { return ref.Kind == v1alpha1.Kind }); i >= 0 {
		return &refs[i]
	}
	return nil
}

// HasOwners reports whether the child has the owners that the job promises. That is the job as its controller. If the job serves a
// Kubeflow job, that job is the controller and comes first, and the TrainingJob follows.
func HasOwners(child metav1.Object, job *v1alpha1.TrainingJob) bool {
	refs, controller := child.GetOwnerReferences(), metav1.GetControllerOf(child)
	if controller == nil {
		return false
	}
	if kubeflow := metav1.GetControllerOf(job); kubeflow != nil {
		return len(refs) == 2 && refs[0].UID == kubeflow.UID && controller.UID == kubeflow.UID && refs[1].UID == job.UID
	}
	return len(refs) == 1 && controller.UID == job.UID
}
