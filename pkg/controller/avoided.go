package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
)

// avoidedNodes counts, when it is asked, the namespaces with jobs that avoid each node. One that several namespaces avoid is worth
// a look; jobs are no measure, as one tenant can have many of them.
type avoidedNodes struct {
	jobs client.Reader
	desc *prometheus.Desc
}

func newAvoidedNodes(jobs client.Reader) *avoidedNodes {
	return &avoidedNodes{jobs: jobs, desc: prometheus.NewDesc("trainingjob_avoided_nodes",
		"Namespaces whose jobs avoid a node, by node and kind: fault if the node itself broke, crash if the job's own pods failed on it.",
		[]string{"kind", "node"}, nil)}
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
	type entry struct{ kind, node string }
	avoiding := map[entry]map[string]bool{}
	for i := range jobs.Items {
		for _, node := range jobs.Items[i].Status.AvoidedNodes {
			e := entry{"crash", node.Name}
			if plan.IsNodesOwn(node.Reason) {
				e.kind = "fault"
			}
			if avoiding[e] == nil {
				avoiding[e] = map[string]bool{}
			}
			avoiding[e][jobs.Items[i].Namespace] = true
		}
	}
	for e, namespaces := range avoiding {
		found <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, float64(len(namespaces)), e.kind, e.node)
	}
}
