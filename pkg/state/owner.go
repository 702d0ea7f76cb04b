package state

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// kubeflowVersion is the API version of the jobs of Kubeflow's training operator.
const kubeflowVersion = "kubeflow.org/v1"

// OwnerOf returns the reference to the TrainingJob that controls the object; nil if there is none. Beside a Kubeflow job of the same name, which
// then controls the object, a plain reference is enough.
func OwnerOf(o metav1.Object) *metav1.OwnerReference {
	controller := metav1.GetControllerOfNoCopy(o)
	if controller == nil || isTrainingJob(controller) {
		return controller
	}
	if controller.APIVersion != kubeflowVersion {
		return nil
	}
	refs := o.GetOwnerReferences()
	for i := range refs {
		if isTrainingJob(&refs[i]) && refs[i].Name == controller.Name {
			return &refs[i]
		}
	}
	return nil
}

func isTrainingJob(ref *metav1.OwnerReference) bool {
	return ref.Kind == v1alpha1.Kind && ref.APIVersion == v1alpha1.GroupVersion.String()
}

// ServedJob returns the reference to the Kubeflow job that the TrainingJob serves; nil if it serves none. Clients of Kubeflow jobs walk the
// controllers of pods, or their first owner, and stop at a kind that they do not know. So that job controls the children.
func ServedJob(job *v1alpha1.TrainingJob) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(job)
	if ref == nil || ref.APIVersion != kubeflowVersion || ref.Name != job.Name {
		return nil
	}
	return ref
}

// HasReplicaServices reports whether each replica has a Service of its own, so that its host name resolves without a subdomain.
func HasReplicaServices(job *v1alpha1.TrainingJob) bool {
	return ServedJob(job) != nil && job.Annotations[v1alpha1.AnnotationReplicaServices] != v1alpha1.ReplicaServicesNone
}
