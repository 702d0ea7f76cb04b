package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// suspects counts, when it is asked, the jobs that keep off each node: a node that several jobs avoid is worth a look.
type suspects struct {
	jobs client.Reader
	desc *prometheus.Desc
}

func newSuspects(jobs client.Reader) *suspects {
	return &suspects{jobs: jobs, desc: prometheus.NewDesc("trainingjob_suspect_nodes",
		"Jobs that keep off a node because incidents began on it, by node.", []string{"node"}, nil)}
}

// Describe implements prometheus.Collector.
func (s *suspects) Describe(descs chan<- *prometheus.Desc) { descs <- s.desc }

// Collect implements prometheus.Collector. It reports nothing while the cache cannot be read.
func (s *suspects) Collect(found chan<- prometheus.Metric) {
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
