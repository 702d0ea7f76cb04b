package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/history"
	"github.com/trainingjob/operator/pkg/operator/intake"
	"github.com/trainingjob/operator/pkg/operator/metrics"
	"github.com/trainingjob/operator/test/sim/builder"
)

// cached is a cache with these jobs that records the options of a list.
type cached struct {
	client.Reader
	items    []v1alpha1.TrainingJob
	options  client.ListOptions
	deadline time.Time
}

func (c *cached) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.options.ApplyOptions(options)
	c.deadline, _ = ctx.Deadline()
	list.(*v1alpha1.TrainingJobList).Items = c.items
	return nil
}

// over returns a collector over a cache, for a process that leads.
func over(jobs *cached, perJob bool) *collector {
	leads := make(chan struct{})
	close(leads)
	none := func() int { return 0 }
	noOthers := func(context.Context) ([]v1alpha1.TrainingJob, error) { return nil, nil }
	broken := func(context.Context) (map[string]string, error) { return map[string]string{"gpu-1": "NodeLost"}, nil }
	return (&collector{jobs: jobs, broken: broken, leads: leads, clock: clocktesting.NewFakePassiveClock(builder.Epoch.Add(time.Hour)), version: "v1", perJob: perJob, reconciles: none, writes: none, others: noOthers}).describe()
}

// served returns the labels of the first series of each family that a registry with the collector serves.
func served(t *testing.T, registry *prometheus.Registry) map[string][]string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, f := range families {
		labels[f.GetName()] = []string{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[f.GetName()] = append(labels[f.GetName()], l.GetName())
		}
	}
	return labels
}

// A Kubeflow job that the operator has yet to take up counts as a TrainingJob without a status does, once.
func TestJobsOfOtherKindsCountUntilTheyAreTakenUp(t *testing.T) {
	isNew := v1alpha1.TrainingJob{Spec: v1alpha1.TrainingJobSpec{Framework: v1alpha1.PyTorch}}
	c := over(&cached{items: []v1alpha1.TrainingJob{isNew}}, false)
	excluded := isNew
	excluded.Namespace = "closed"
	c.excluded = []string{"closed"}
	c.others = func(context.Context) ([]v1alpha1.TrainingJob, error) {
		return []v1alpha1.TrainingJob{isNew, isNew, excluded}, nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == metrics.Jobs.Name && f.GetMetric()[0].GetGauge().GetValue() == 3 && len(f.GetMetric()) == 1 {
			return
		}
	}
	t.Errorf("the metrics are %v, want 3 jobs without a phase", families)
}

// A write that hangs must not make the metrics hang.
func TestTheCollectorWaitsForNoWriteAndNotForEver(t *testing.T) {
	jobs := &cached{}
	over(jobs, true).Collect(make(chan prometheus.Metric, 8))
	if !jobs.options.DisableReadYourWritesConsistency || jobs.deadline.IsZero() {
		t.Errorf("waits for writes: %t, until %v", !jobs.options.DisableReadYourWritesConsistency, jobs.deadline)
	}
}

// Of two replicas of the operator only one reports jobs. Otherwise each would be counted twice.
func TestAProcessThatDoesNotLeadTellsNothingOfJobs(t *testing.T) {
	c := over(&cached{items: []v1alpha1.TrainingJob{*builder.Job("j")}}, true)
	c.leads = make(chan struct{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	if got := served(t, registry); len(got) > 0 {
		t.Errorf("it reports %v", got)
	}
}

// The metrics of the catalogue are served, with these labels; without the flag no job has its own.
func TestTheRegistryServesTheCatalogue(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	job.Status = v1alpha1.TrainingJobStatus{
		Phase: v1alpha1.PhaseRunning, StartTime: builder.TimePtr(0), Budgets: []v1alpha1.Budget{{Name: v1alpha1.BudgetRestarts}},
		Progress:     &v1alpha1.ProgressStatus{RenewTime: builder.TimePtr(0), CheckpointTime: builder.TimePtr(0)},
		AvoidedNodes: []v1alpha1.AvoidedNode{{Name: "gpu-1"}},
	}
	builder.Condition(v1alpha1.ConditionStalled, true, "Forbidden", 0)(job)
	builder.Condition(v1alpha1.ConditionProgressing, false, "ProgressStalled", 0)(job)
	waits := builder.Job("waits", builder.Workers(1))
	waits.Status = v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhasePending}
	for _, perJob := range []bool{false, true} {
		registry := prometheus.NewRegistry()
		counts, err := newCounted(registry)
		if err != nil {
			t.Fatal(err)
		}
		for family, vector := range counts.counters {
			vector.WithLabelValues(make([]string, len(family.Labels))...).Inc()
		}
		for family, vector := range counts.histograms {
			vector.WithLabelValues(make([]string, len(family.Labels))...).Observe(1)
		}
		registry.MustRegister(over(&cached{items: []v1alpha1.TrainingJob{*job, *waits}}, perJob), watches(t))
		want := map[string][]string{}
		for _, f := range metrics.All {
			if perJob || f.Group != metrics.GroupJobs {
				want[f.Name] = append([]string{}, slices.Sorted(slices.Values(f.Labels))...)
			}
		}
		if diff := cmp.Diff(want, served(t, registry)); diff != "" {
			t.Errorf("with --job-metrics=%t (-catalogue +registry):\n%s", perJob, diff)
		}
	}
}

// watches returns the collector of a process that watches jobs.
func watches(t *testing.T) intake.Collector {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	i := intake.New(scheme, logr.Discard())
	i.NewInformer(&toolscache.ListWatch{}, &v1alpha1.TrainingJob{}, 0, nil)
	return intake.Collector{Feeds: i.Feeds, Sieve: i.Sieve}
}

// The catalogue's help texts are the help texts of the served metrics.
func TestTheMetricsOfWatchesHaveTheWordsOfTheCatalogue(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(watches(t))
	families, err := registry.Gather()
	if err != nil || len(families) != 3 {
		t.Fatalf("%d families, %v", len(families), err)
	}
	help := map[string]string{}
	for _, f := range metrics.All {
		help[f.Name] = f.Help
	}
	for _, f := range families {
		if f.GetHelp() != help[f.GetName()] {
			t.Errorf("%s: served with %q, in the catalogue is %q", f.GetName(), f.GetHelp(), help[f.GetName()])
		}
	}
}

// Each observation reaches the counter of its family.
func TestWhatAStatusTellsIsCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	counts, err := newCounted(registry)
	if err != nil {
		t.Fatal(err)
	}
	job := builder.Job("j", builder.Workers(1), builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.StartTime = builder.TimePtr(0) }))
	next := job.Status.DeepCopy()
	next.LostSeconds.Nodes, next.RunningTime = 4, builder.TimePtr(7*time.Second)
	counts.record(history.Between(job, next, nil))
	counts.record(history.Between(job, next, nil))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		got[f.GetName()] = m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
	}
	if diff := cmp.Diff(map[string]float64{"trainingjob_lost_seconds_total": 8, "trainingjob_startup_seconds": 14}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
