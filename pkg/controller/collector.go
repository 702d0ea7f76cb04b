package controller

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/metrics"
)

// collectWithin is how long a collector may take; a scrape takes 10 s by default.
const collectWithin = 5 * time.Second

// collector returns the metrics of jobs from the cache at each scrape: one walk over the jobs, none over their pods.
type collector struct {
	jobs client.Reader
	// broken returns the nodes that are broken by their own status, with the reason.
	broken func(context.Context) (map[string]string, error)
	// leads is closed once this process acts. Before that the collector returns nothing: otherwise two replicas would report each job
	// twice.
	leads   <-chan struct{}
	clock   clock.PassiveClock
	version string
	// perJob is whether each job has series of its own.
	perJob bool
	// reconciles and writes return how many wait for their namespace's share.
	reconciles, writes func() int
	// excluded are the namespaces in which the operator runs no job, so jobs there do not count.
	excluded []string
	descs    map[*metrics.Family]*prometheus.Desc
}

func (c *collector) describe() *collector {
	c.descs = map[*metrics.Family]*prometheus.Desc{}
	for _, f := range metrics.All {
		if f.Group == metrics.GroupFleet || f.Group == metrics.GroupJobs && c.perJob {
			c.descs[f] = prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
		}
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		descs <- desc
	}
}

// Collect implements prometheus.Collector. It reports an error while the cache cannot be read.
func (c *collector) Collect(found chan<- prometheus.Metric) {
	select {
	case <-c.leads:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectWithin)
	defer cancel()
	var jobs v1alpha1.TrainingJobList
	if err := listJobs(ctx, c.jobs, &jobs); err != nil {
		found <- prometheus.NewInvalidMetric(c.descs[metrics.Jobs], err)
		return
	}
	broken, err := c.broken(ctx)
	if err != nil {
		found <- prometheus.NewInvalidMetric(c.descs[metrics.BrokenNodes], err)
	}
	isExcluded := func(job v1alpha1.TrainingJob) bool { return slices.Contains(c.excluded, job.Namespace) }
	jobs.Items = slices.DeleteFunc(jobs.Items, isExcluded)
	now := c.clock.Now()
	found <- prometheus.MustNewConstMetric(c.descs[metrics.Leads], prometheus.GaugeValue, 1, c.version)
	found <- prometheus.MustNewConstMetric(c.descs[metrics.WaitingReconciles], prometheus.GaugeValue, float64(c.reconciles()))
	found <- prometheus.MustNewConstMetric(c.descs[metrics.WaitingWrites], prometheus.GaugeValue, float64(c.writes()))
	c.tell(found, metrics.Fleet(jobs.Items, broken, now))
	for i := range jobs.Items {
		if c.perJob {
			c.tell(found, metrics.OfJob(&jobs.Items[i], now))
		}
	}
}

func (c *collector) tell(found chan<- prometheus.Metric, list []metrics.Observation) {
	for _, o := range list {
		kind := prometheus.GaugeValue
		if o.Family.Kind == metrics.Counter {
			kind = prometheus.CounterValue
		}
		metric, err := prometheus.NewConstMetric(c.descs[o.Family], kind, o.Value, o.Labels...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(c.descs[o.Family], err)
		}
		found <- metric
	}
}

// listJobs lists all jobs as the cache has them. It does not wait for own writes, which may hang.
func listJobs(ctx context.Context, reader client.Reader, jobs *v1alpha1.TrainingJobList) error {
	return reader.List(ctx, jobs, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
}
