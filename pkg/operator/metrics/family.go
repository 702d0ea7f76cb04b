package metrics

// Kind is the type of a family, in the words of Prometheus.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Group is the source of the values of a family.
type Group string

// The groups.
const (
	// GroupEvents are counted since the process began, as statuses are written.
	GroupEvents Group = "events"
	// GroupFleet are read from the cache at each scrape.
	GroupFleet Group = "fleet"
	// GroupJobs are read from the cache, too, one series or more for each job: only with --job-metrics.
	GroupJobs Group = "jobs"
	// GroupProcess are about the process itself and what it can see. Every replica of the operator exports them, and Kueue's adapter.
	GroupProcess Group = "process"
)

// Family is one metric: its name, what it means and its labels.
type Family struct {
	Name   string
	Kind   Kind
	Group  Group
	Unit   string
	Help   string
	Labels []string
	// Buckets of a histogram.
	Buckets []float64
}

// Observation is one value of a family: what a counter grows by, what a histogram is given, or what a gauge is.
type Observation struct {
	Family *Family
	// Labels are the values of Family.Labels, in their order.
	Labels []string
	Value  float64
}

// with returns an observation of the family.
func (f *Family) with(value float64, labels ...string) Observation {
	return Observation{Family: f, Labels: labels, Value: value}
}

// seconds are the buckets of times, from a second to a day.
var seconds = []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400}
