package intake

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trainingjob/operator/pkg/intake/sieve"
)

// The metrics of the intake. Every replica exports them, whether it leads or not.
var (
	watchErrors = prometheus.NewDesc("trainingjob_watch_errors_total", WatchErrorsHelp, []string{"kind"}, nil)
	watchAge    = prometheus.NewDesc("trainingjob_watch_age_seconds", WatchAgeHelp, []string{"kind"}, nil)
	undecodable = prometheus.NewDesc("trainingjob_undecodable_objects", UndecodableHelp, []string{"kind"}, nil)
)

// What the metrics mean.
const (
	WatchErrorsHelp = "Lists and watches that failed, by kind."
	WatchAgeHelp    = "Time since the last list, event or bookmark, by kind. A healthy watch has a bookmark about every minute."
	UndecodableHelp = "Objects that the API server stores and the program cannot decode, by kind. The program skips them."
)

// Collector exports the metrics of the feeds and of the sieve.
type Collector struct {
	Feeds *Feeds
	Sieve *sieve.Sieve
}

// Describe implements prometheus.Collector.
func (c Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{watchErrors, watchAge, undecodable} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(found chan<- prometheus.Metric) {
	c.Feeds.mu.Lock()
	defer c.Feeds.mu.Unlock()
	skipped := map[string]int{}
	for kind, k := range c.Feeds.kinds {
		skipped[kind] = 0
		found <- prometheus.MustNewConstMetric(watchErrors, prometheus.CounterValue, float64(k.errors), kind)
		if !k.isUnserved() {
			age := c.Feeds.clock.Since(k.heard).Seconds()
			found <- prometheus.MustNewConstMetric(watchAge, prometheus.GaugeValue, age, kind)
		}
	}
	for _, s := range c.Sieve.Skipped() {
		skipped[s.KindName()]++
	}
	for kind, n := range skipped {
		found <- prometheus.MustNewConstMetric(undecodable, prometheus.GaugeValue, float64(n), kind)
	}
}
