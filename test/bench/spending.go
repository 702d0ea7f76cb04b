package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// quiet is how long the operator must have sent no request to count as done.
const quiet = 2 * time.Second

// spending is what the operator has used, by its own metrics.
type spending struct {
	// writes are those of the requests that change something, Events included.
	requests, writes float64
	// passes are the looks at jobs.
	passes float64
	// cpu is in seconds, memory (resident) in bytes.
	cpu, memory float64
}

func (s *spending) since(before *spending) *spending {
	return &spending{requests: s.requests - before.requests, writes: s.writes - before.writes, passes: s.passes - before.passes, cpu: s.cpu - before.cpu, memory: s.memory}
}

// newMeteredBench returns a bench that knows where the operator tells what it spends.
func newMeteredBench(o options) (*bench, error) {
	if o.metrics == "" {
		return nil, errors.New("what did the operator spend? Set --metrics or OPERATOR_METRICS to the URL of its metrics")
	}
	return newBench(o)
}

// spent reads the operator's metrics; it returns nil if their URL is not known.
func (b *bench) spent(ctx context.Context) (*spending, error) {
	if b.metrics == "" {
		return nil, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.metrics, nil)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reading the operator's metrics: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the operator's metrics: %w", err)
	}
	return &spending{
		requests: sum(families["rest_client_requests_total"], nil),
		writes:   sum(families["rest_client_requests_total"], isWrite),
		passes:   sum(families["controller_runtime_reconcile_total"], nil),
		cpu:      sum(families["process_cpu_seconds_total"], nil),
		memory:   sum(families["process_resident_memory_bytes"], nil),
	}, nil
}

// spentWhenQuiet reads the operator's metrics once it sends no more requests.
func (b *bench) spentWhenQuiet(ctx context.Context) (*spending, error) {
	last, err := b.spent(ctx)
	for err == nil {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(quiet):
		}
		var now *spending
		if now, err = b.spent(ctx); err == nil && now.requests == last.requests {
			return now, nil
		}
		last = now
	}
	return nil, err
}

func isWrite(m *dto.Metric) bool {
	return slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "method" && l.GetValue() != http.MethodGet })
}

// sum adds the family's values up: of all metrics, or of those that are asked for.
func sum(family *dto.MetricFamily, wanted func(*dto.Metric) bool) float64 {
	total := 0.0
	for _, m := range family.GetMetric() {
		if wanted == nil || wanted(m) {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return total
}
