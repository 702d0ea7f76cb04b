package intake

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trainingjob/operator/pkg/operator/intake/sieve"
)

// Intake is the Sieve and the Feeds of a manager.
type Intake struct {
	*sieve.Sieve
	*Feeds

	found chan sieve.Skipped
}

// maxUnreported is how many objects can wait for their Events. The Events of more are lost; the log and the metrics have them.
const maxUnreported = 100

// New returns an intake. It logs each object that it skips.
func New(scheme *runtime.Scheme, log logr.Logger) *Intake {
	found := make(chan sieve.Skipped, maxUnreported)
	sieved := sieve.New(scheme, func(s sieve.Skipped) {
		log.Error(errors.New(s.Why), "skipping an object that cannot be decoded", "kind", s.KindName(), "namespace", s.Namespace, "name", s.Name)
		select {
		case found <- s:
		default:
		}
	})
	return &Intake{Sieve: sieved, Feeds: NewFeeds(scheme, clock.RealClock{}), found: found}
}

// Guard puts the intake into what a manager is made of.
func (i *Intake) Guard(config *rest.Config, options *cache.Options) {
	config.Wrap(i.Wrap)
	options.NewInformer = i.NewInformer
}

// AddTo has the manager report the intake: its readiness as a check, its metrics, and Events on skipped objects while it leads. It returns
// an error if the metrics are registered already.
func (i *Intake) AddTo(mgr manager.Manager, source string) error {
	if err := mgr.AddReadyzCheck("watches", i.Ready); err != nil {
		return err
	}
	if err := crmetrics.Registry.Register(Collector{i.Feeds, i.Sieve}); err != nil {
		return fmt.Errorf("registering the metrics of watches: %w", err)
	}
	return mgr.Add(reporter{i, mgr.GetEventRecorder(source)})
}

// reporter writes an Event on each object that is skipped. Only the leader does, as only the leader writes.
type reporter struct {
	*Intake

	events events.EventRecorder
}

// Start implements manager.Runnable.
func (r reporter) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-r.found:
			r.events.Eventf(s.Object(), nil, corev1.EventTypeWarning, "Undecodable", "Decode", "The object is stored but cannot be decoded, so it is ignored until it is corrected: %s", s.Why)
		}
	}
}

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
