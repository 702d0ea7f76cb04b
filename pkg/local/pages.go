package local

import (
	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// withProgress returns the job with the progress that its page has shown last. The operator writes a new step into the status once a minute only,
// which spares an API server; the screen and the folder of a run show it at once.
func (o *operator) withProgress(job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	is, shown := job.Status.Progress, o.reads.Seen(o.job).Page
	if is == nil || shown.Step <= is.Step {
		return job
	}
	job = job.DeepCopy()
	job.Status.Progress.Step, job.Status.Progress.Metrics = shown.Step, shown.Metrics
	if shown.Checkpoint != "" {
		job.Status.Progress.Checkpoint = shown.Checkpoint
	}
	return job
}
