package build

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// ProgressLease returns the Lease that the training renews; its own service account needs only patch on that one name.
func ProgressLease(job *v1alpha1.TrainingJob) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: state.LeaseName(job.Name), Namespace: job.Namespace, Labels: JobLabels(job), OwnerReferences: Owners(job),
	}}
}
