package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// exclude writes an Event about a job in an excluded namespace, once for each process. It writes no status: another controller
// may run the job.
func (c *Cluster) exclude(job *v1alpha1.TrainingJob) {
	first := false
	c.memo(job, func(m *jobMemo) { first, m.excluded = !m.excluded, true })
	if first && !job.Spec.IsManagedElsewhere() {
		c.events.Eventf(job, nil, corev1.EventTypeWarning, v1alpha1.EventNamespaceExcluded, "Ignore",
			"The operator runs no jobs in namespace %s (--exclude-namespaces): create the job in another namespace.", job.Namespace)
	}
}
