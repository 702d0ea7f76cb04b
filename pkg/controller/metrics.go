package controller

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trainingjob/operator/pkg/history"
	"github.com/trainingjob/operator/pkg/metrics"
)

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
