package controller

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// phases counts the jobs by phase and framework when it is asked, from the cache.
type phases struct {
	jobs client.Reader
	desc *prometheus.Desc
}

func newPhases(jobs client.Reader) *phases {
	return &phases{jobs: jobs, desc: prometheus.NewDesc("trainingjob_jobs",
		"Jobs there are, by framework and phase.", []string{"framework", "phase"}, nil)}
}

// Describe implements prometheus.Collector.
func (p *phases) Describe(descs chan<- *prometheus.Desc) { descs <- p.desc }

// Collect implements prometheus.Collector. It reports nothing while the cache cannot be read.
func (p *phases) Collect(found chan<- prometheus.Metric) {
	var jobs v1alpha1.TrainingJobList
	if err := listJobs(p.jobs, &jobs); err != nil {
		found <- prometheus.NewInvalidMetric(p.desc, err)
		return
	}
	type kind struct{ framework, phase string }
	counts := map[kind]int{}
	for i := range jobs.Items {
		counts[kind{string(jobs.Items[i].Spec.Framework), string(jobs.Items[i].Status.Phase)}]++
	}
	for k, n := range counts {
		found <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, float64(n), k.framework, k.phase)
	}
}

// collectWithin is how long a collector may take; a scrape takes 10 s by default.
const collectWithin = 5 * time.Second

// listJobs lists all jobs as the cache has them. It does not wait for own writes, which may hang, and returns an error after
// collectWithin.
func listJobs(reader client.Reader, jobs *v1alpha1.TrainingJobList) error {
	ctx, cancel := context.WithTimeout(context.Background(), collectWithin)
	defer cancel()
	return reader.List(ctx, jobs, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
}
