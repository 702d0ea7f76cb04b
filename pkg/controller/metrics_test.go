package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/test/builder"
)

// Only what a node did itself is counted as its fault, and once for each time.
func TestNodeFaultsAreCountedByReason(t *testing.T) {
	node := func(name, reason string, until time.Duration) v1alpha1.AvoidedNode {
		return v1alpha1.AvoidedNode{Name: name, Reason: reason, Until: builder.Time(until)}
	}
	was := []v1alpha1.AvoidedNode{node("known", "NodeIll", time.Hour), node("again", "NodeLost", time.Hour), node("yielded", "NodeIll", time.Hour), node("crashed", "Error", time.Hour)}
	yielded := was[2]
	yielded.Preferred = true
	is := []v1alpha1.AvoidedNode{was[0], node("again", "NodeLost", 2*time.Hour), yielded, node("crashed", "NodeIll", time.Hour), node("new", "NodeIll", time.Hour), node("tenant", "OutOfcpu", time.Hour), node("exit", "Error", time.Hour)}
	m := &metrics{
		faults:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "faults"}, []string{"reason"}),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "restarts"}, []string{"framework", "role", "cause", "scope"}),
	}
	job := builder.Job("j", builder.Workers(1), builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.AvoidedNodes = was }))
	m.record(job, &plan.Plan{Status: v1alpha1.TrainingJobStatus{AvoidedNodes: is}})
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.faults)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, metric := range families[0].GetMetric() {
		got[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
	}
	if diff := cmp.Diff(map[string]float64{"NodeIll": 2, "NodeLost": 1}, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}
