package controller

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scraped is a reader that notes how it is asked for a list.
type scraped struct {
	client.Reader
	options  client.ListOptions
	deadline time.Time
}

func (s *scraped) List(ctx context.Context, _ client.ObjectList, options ...client.ListOption) error {
	s.options.ApplyOptions(options)
	s.deadline, _ = ctx.Deadline()
	return nil
}

// A write that hangs must not make the metrics hang.
func TestCollectorsWaitForNoWriteAndNotForEver(t *testing.T) {
	for name, collector := range map[string]func(client.Reader) prometheus.Collector{
		"phases":       func(r client.Reader) prometheus.Collector { return newPhases(r) },
		"avoidedNodes": func(r client.Reader) prometheus.Collector { return newAvoidedNodes(r) },
	} {
		jobs := &scraped{}
		collector(jobs).Collect(make(chan prometheus.Metric, 1))
		if !jobs.options.DisableReadYourWritesConsistency || jobs.deadline.IsZero() {
			t.Errorf("%s: waits for writes: %t, until %v", name, !jobs.options.DisableReadYourWritesConsistency, jobs.deadline)
		}
	}
}
