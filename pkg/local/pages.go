package local

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/operator/cluster"
)

// pages remember what the job's page has shown last. The operator writes a new step into the status once a minute only, which spares an
// API server; the screen and the folder of a run show it at once.
type pages struct {
	cluster.Pages
	shown cluster.Shown
}

// Watch implements cluster.Pages.
func (p *pages) Watch(job client.ObjectKey, page cluster.Page) cluster.Shown {
	p.shown = p.Pages.Watch(job, page)
	return p.shown
}

// Forget implements cluster.Pages.
func (p *pages) Forget(job client.ObjectKey) cluster.Shown {
	p.shown = cluster.Shown{}
	return p.Pages.Forget(job)
}

// addTo returns the job with the progress that its page has shown.
func (p *pages) addTo(job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	is := job.Status.Progress
	if is == nil || p.shown.Step <= is.Step {
		return job
	}
	job = job.DeepCopy()
	job.Status.Progress.Step, job.Status.Progress.Metrics = p.shown.Step, p.shown.Metrics
	if p.shown.Checkpoint != "" {
		job.Status.Progress.Checkpoint = p.shown.Checkpoint
	}
	return job
}
