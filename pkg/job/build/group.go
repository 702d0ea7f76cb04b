package build

import (
	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Group returns the pod group as the present attempt's own.
func Group(job *v1alpha1.TrainingJob, group state.Object) state.Object {
	group.SetName(state.GroupNameOf(job))
	group.SetNamespace(job.Namespace)
	group.SetLabels(JobLabels(job))
	group.SetOwnerReferences(Owners(job))
	return group
}
