package state

import (
	"cmp"
	"fmt"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// QueueOf returns the queue in force: Kueue's, or the queue of the job's gang scheduler.
func QueueOf(job *v1alpha1.TrainingJob) string {
	if queue := job.Labels[v1alpha1.LabelQueue]; queue != "" || job.Spec.Scheduling == nil {
		return queue
	}
	return job.Spec.Scheduling.Queue
}

// PartialAdmission returns how many workers the queue has admitted and how many the job requests; ok is false if it has admitted all, or the
// workers were scaled since.
func PartialAdmission(job *v1alpha1.TrainingJob) (admitted, asked int32, ok bool) {
	_, err := fmt.Sscanf(job.Annotations[v1alpha1.AnnotationAdmittedWorkers], "%d of %d", &admitted, &asked)
	return admitted, asked, err == nil && admitted < asked && admitted == job.Spec.Replicas(v1alpha1.Worker)
}

// WhyQueued returns which queue of Kueue the job waits in, and the queue's message if there is one.
func WhyQueued(job *v1alpha1.TrainingJob) string {
	message := cmp.Or(Printable(job.Annotations[v1alpha1.AnnotationQueueMessage]), "Kueue and the Kueue adapter start it.")
	return fmt.Sprintf("The job waits in queue %s to be admitted: %s", job.Labels[v1alpha1.LabelQueue], Quote(message))
}

// ClusterOf returns the worker cluster in which MultiKueue runs the job; empty for none.
func ClusterOf(job *v1alpha1.TrainingJob) string {
	if !job.Spec.IsDispatched() {
		return ""
	}
	return Printable(job.Annotations[v1alpha1.AnnotationCluster])
}
