package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// avoidedNodes counts, when it is asked, the jobs that avoid each node: a node that several jobs avoid is worth a look.
type avoidedNodes struct {
	jobs client.Reader
	desc *prometheus.Desc
}

func newAvoidedNodes(jobs client.Reader) *avoidedNodes {
	return &avoidedNodes{jobs: jobs, desc: prometheus.NewDesc("trainingjob_avoided_nodes",
		"Jobs that avoid a node because incidents began on it, by node.", []string{"node"}, nil)}
}

// Describe implements prometheus.Collector.
func (s *avoidedNodes) Describe(descs chan<- *prometheus.Desc) { descs <- s.desc }

// Collect implements prometheus.Collector. It reports nothing while the cache cannot be read.
func (s *avoidedNodes) Collect(found chan<- prometheus.Metric) {
	var jobs v1alpha1.TrainingJobList
	if err := listJobs(s.jobs, &jobs); err != nil {
		found <- prometheus.NewInvalidMetric(s.desc, err)
		return
	}
	avoiding := map[string]int{}
	for i := range jobs.Items {
		for _, node := range jobs.Items[i].Status.AvoidedNodes {
			avoiding[node.Name]++
		}
	}
	for node, n := range avoiding {
		found <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, float64(n), node)
	}
}
