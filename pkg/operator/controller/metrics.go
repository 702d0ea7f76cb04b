package controller

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/history"
	"github.com/trainingjob/operator/pkg/operator/metrics"
)

// collectWithin is how long a collector may take; a scrape takes 10 s by default.
const collectWithin = 5 * time.Second

// collector reports the state of all jobs at each scrape, from the cache: one walk over the jobs, none over their pods.
type collector struct {
	jobs client.Reader
	// broken returns the nodes that are broken by their own status, with the reason.
	broken func(context.Context) (map[string]string, error)
	// others returns jobs of other kinds that the operator has yet to take up.
	others func(context.Context) ([]v1alpha1.TrainingJob, error)
	// leads is closed once this process leads. Before, it reports nothing: with two replicas each job would be counted twice.
	leads   <-chan struct{}
	clock   clock.PassiveClock
	version string
	// perJob is whether each job has its own series.
	perJob bool
	// reconciles and writes return how many wait for their namespace's share.
	reconciles, writes func() int
	// excluded are the namespaces where the operator runs no job. Jobs there do not count.
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
	// it does not wait for own writes, which may hang
	if err := c.jobs.List(ctx, &jobs, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		found <- prometheus.NewInvalidMetric(c.descs[metrics.Jobs], err)
		return
	}
	broken, err := c.broken(ctx)
	if err != nil {
		found <- prometheus.NewInvalidMetric(c.descs[metrics.BrokenNodes], err)
	}
	others, err := c.others(ctx)
	if err != nil {
		found <- prometheus.NewInvalidMetric(c.descs[metrics.Jobs], err)
		return
	}
	isExcluded := func(job v1alpha1.TrainingJob) bool { return slices.Contains(c.excluded, job.Namespace) }
	jobs.Items = slices.DeleteFunc(jobs.Items, isExcluded)
	others = slices.DeleteFunc(others, isExcluded)
	now := c.clock.Now()
	found <- prometheus.MustNewConstMetric(c.descs[metrics.Leads], prometheus.GaugeValue, 1, c.version)
	found <- prometheus.MustNewConstMetric(c.descs[metrics.WaitingReconciles], prometheus.GaugeValue, float64(c.reconciles()))
	found <- prometheus.MustNewConstMetric(c.descs[metrics.WaitingWrites], prometheus.GaugeValue, float64(c.writes()))
	c.emit(found, metrics.Fleet(slices.Concat(jobs.Items, others), broken, now))
	for i := range jobs.Items {
		if c.perJob {
			c.emit(found, metrics.OfJob(&jobs.Items[i], now))
		}
	}
}

func (c *collector) emit(found chan<- prometheus.Metric, list []metrics.Observation) {
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

// counted are the metrics about all jobs together since the process began.
type counted struct {
	counters   map[*metrics.Family]*prometheus.CounterVec
	histograms map[*metrics.Family]*prometheus.HistogramVec
}

// newCounted registers the metrics; it returns an error if they are registered already.
func newCounted(registry prometheus.Registerer) (*counted, error) {
	c := &counted{counters: map[*metrics.Family]*prometheus.CounterVec{}, histograms: map[*metrics.Family]*prometheus.HistogramVec{}}
	for _, f := range metrics.All {
		var err error
		switch {
		case f.Group != metrics.GroupEvents:
		case f.Kind == metrics.Histogram:
			c.histograms[f] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.Name, Help: f.Help, Buckets: f.Buckets}, f.Labels)
			err = registry.Register(c.histograms[f])
		default:
			c.counters[f] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Name, Help: f.Help}, f.Labels)
			err = registry.Register(c.counters[f])
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// record counts the transitions of a job, once its status is written.
func (c *counted) record(happened *history.History) {
	for _, o := range metrics.Observe(happened) {
		if counter, is := c.counters[o.Family]; is {
			counter.WithLabelValues(o.Labels...).Add(o.Value)
		} else {
			c.histograms[o.Family].WithLabelValues(o.Labels...).Observe(o.Value)
		}
	}
}
