package controller

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
)

// metrics are what all jobs together have been through. Their labels are bounded: no job is named.
type metrics struct {
	restarts *prometheus.CounterVec
	faults   *prometheus.CounterVec
	finished *prometheus.CounterVec
	startup  *prometheus.HistogramVec
}

// newMetrics registers the metrics; it panics if they are registered already.
func newMetrics() *metrics {
	m := &metrics{
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trainingjob_restarts_total",
			Help: "Restarts recorded, by framework, role and cause of the failure, and scope of the restart.",
		}, []string{"framework", "role", "cause", "scope"}),
		faults: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trainingjob_node_faults_total",
			Help: "Nodes that a job began to avoid, once more or for the first time, because the node itself broke or is ill, by reason.",
		}, []string{"reason"}),
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trainingjob_finished_total",
			Help: "Jobs that have finished, by framework, result (Succeeded or Failed) and reason.",
		}, []string{"framework", "result", "reason"}),
		startup: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "trainingjob_startup_seconds",
			Help:    "Time from a job's first start until all its replicas ran for the first time.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 13),
		}, []string{"framework"}),
	}
	crmetrics.Registry.MustRegister(m.restarts, m.faults, m.finished, m.startup)
	return m
}

// record counts what the plan's status, now written, says that the job's former status does not.
func (m *metrics) record(job *v1alpha1.TrainingJob, p *plan.Plan) {
	framework := string(job.Spec.Framework)
	for i := range p.Restarts {
		f := &p.Restarts[i].Failure
		m.restarts.WithLabelValues(framework, string(f.Role), string(f.Cause), string(p.Restarts[i].Scope)).Inc()
	}
	for _, n := range p.Status.AvoidedNodes {
		isOld := func(o v1alpha1.AvoidedNode) bool {
			return o.Name == n.Name && o.Reason == n.Reason && !o.Until.Before(&n.Until)
		}
		if plan.IsNodesOwn(n.Reason) && !slices.ContainsFunc(job.Status.AvoidedNodes, isOld) {
			m.faults.WithLabelValues(n.Reason).Inc()
		}
	}
	if job.Status.RunningTime == nil && p.Status.RunningTime != nil {
		m.startup.WithLabelValues(framework).Observe(p.Status.RunningTime.Sub(p.Status.StartTime.Time).Seconds())
	}
	if job.Status.CompletionTime == nil && p.Status.CompletionTime != nil {
		for _, result := range []string{v1alpha1.ConditionSucceeded, v1alpha1.ConditionFailed} {
			if c := meta.FindStatusCondition(p.Status.Conditions, result); c != nil && c.Status == "True" {
				m.finished.WithLabelValues(framework, result, c.Reason).Inc()
			}
		}
	}
}
