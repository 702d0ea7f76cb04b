package controller

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/builder"
)

// jobs is a cache with these jobs.
type jobs struct {
	client.Reader
	items []v1alpha1.TrainingJob
}

func (j jobs) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.TrainingJobList).Items = j.items
	return nil
}

// Ten jobs of one tenant are one witness against a node, and what they did there themselves is told apart.
func TestNodesAreCountedByNamespaceAndKind(t *testing.T) {
	var all []v1alpha1.TrainingJob
	avoids := func(namespace, node, reason string) {
		job := builder.Job("j", builder.Workers(1))
		job.Namespace, job.Status.AvoidedNodes = namespace, []v1alpha1.AvoidedNode{{Name: node, Reason: reason}}
		all = append(all, *job)
	}
	for range 10 {
		avoids("team-a", "gpu-0", "Error")
	}
	avoids("team-a", "gpu-1", "NodeLost")
	avoids("team-b", "gpu-1", "NodeLost")
	avoids("team-b", "gpu-1", "OutOfcpu")
	registry := prometheus.NewRegistry()
	if err := registry.Register(newAvoidedNodes(jobs{items: all})); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, metric := range families[0].GetMetric() {
		got[fmt.Sprintf("%s %s", metric.GetLabel()[0].GetValue(), metric.GetLabel()[1].GetValue())] = metric.GetGauge().GetValue()
	}
	want := map[string]float64{"crash gpu-0": 1, "crash gpu-1": 1, "fault gpu-1": 2}
	if diff := cmp.Diff(want, got); diff != "" || families[0].GetName() != "trainingjob_avoided_nodes" {
		t.Errorf("%s (-want +got):\n%s", families[0].GetName(), diff)
	}
}
