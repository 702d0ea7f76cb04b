package state

import "github.com/trainingjob/operator/apis/training/v1alpha1"

// QueueOf returns the queue in force: Kueue's, or the queue of the job's gang scheduler.
func QueueOf(job *v1alpha1.TrainingJob) string {
	if queue := job.Labels[v1alpha1.LabelQueue]; queue != "" || job.Spec.Scheduling == nil {
		return queue
	}
	return job.Spec.Scheduling.Queue
}
