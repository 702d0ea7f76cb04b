package serve

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// counters count jobs by the names of Kubeflow's operator, so that dashboards and alerts of its users stay as they are.
// Source: pkg/common/metrics.go of Training Operator 1.9.
type counters struct {
	// byCondition count jobs whose condition of that type becomes True.
	byCondition map[string]*prometheus.CounterVec
	deleted     *prometheus.CounterVec
	// steppedBack counts jobs that this operator left to another controller: Kubeflow's operator has no such metric.
	steppedBack *prometheus.CounterVec
}

// newCounters registers the metrics. It returns an error if they are registered already.
func newCounters(registry prometheus.Registerer) (*counters, error) {
	counter := func(what string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "training_operator_jobs_" + what + "_total", Help: "Number of Kubeflow jobs " + what,
		}, []string{"job_namespace", "framework"})
	}
	c := &counters{deleted: counter("deleted"), steppedBack: counter("stepped_back"), byCondition: map[string]*prometheus.CounterVec{
		Created: counter("created"), Succeeded: counter("successful"), Failed: counter("failed"), Restarting: counter("restarted"),
	}}
	for _, vector := range c.byCondition {
		if err := registry.Register(vector); err != nil {
			return nil, err
		}
	}
	if err := registry.Register(c.steppedBack); err != nil {
		return nil, err
	}
	return c, registry.Register(c.deleted)
}

// record counts what the next status of the job has and the last one had not.
func (c *counters) record(job *Job, next *Status) {
	for _, condition := range next.Conditions {
		if counter := c.byCondition[condition.Type]; counter != nil && condition.Status == corev1.ConditionTrue && !job.Status.is(condition.Type) {
			counter.WithLabelValues(job.Namespace, job.kind.label()).Inc()
		}
	}
}

// sawGone counts a deleted job of the kind.
func (c *counters) sawGone(namespace string, kind Kind) {
	c.deleted.WithLabelValues(namespace, kind.label()).Inc()
}
