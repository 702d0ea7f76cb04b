package build

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Service returns the headless Service that gives the pods of the job which have a name in DNS their name. It selects by a label of theirs
// and not by what they are, so that it can stay as it is when the job changes while it is suspended.
func Service(job *v1alpha1.TrainingJob) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: job.Name, Namespace: job.Namespace, Labels: JobLabels(job), OwnerReferences: controllerRef(job),
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			// ranks look each other up before they are ready, so no init container has to wait for DNS
			PublishNotReadyAddresses: true,
			// a pod on a lost node loses its job-name label, and so its place here
			Selector: map[string]string{v1alpha1.LabelJobUID: string(job.UID), v1alpha1.LabelJobName: job.Name, v1alpha1.LabelNamed: "true"},
		},
	}
}
