package serve

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// The names and labels come from pkg/common/metrics.go of Training Operator 1.9.4.
func TestJobsAreCountedByTheNamesOfKubeflowsOperator(t *testing.T) {
	registry := prometheus.NewRegistry()
	counters, err := newCounters(registry)
	if err != nil {
		t.Fatal(err)
	}
	job := read(t, tfJob)
	served, err := job.Serve()
	if err != nil {
		t.Fatal(err)
	}
	running, restarting := is(v1alpha1.ConditionRunning, ""), is(v1alpha1.ConditionRestarting, "ps-0 died.")
	for _, now := range []string{"", "running", "restarting", "restarting", "running", "restarting", "succeeded", "succeeded"} {
		child := served.Child.DeepCopy()
		switch now {
		case "running":
			child.Status.Conditions = append(child.Status.Conditions, running)
		case "restarting":
			child.Status.Conditions = append(child.Status.Conditions, restarting)
		case "succeeded":
			child.Status.Conditions = append(child.Status.Conditions, is(v1alpha1.ConditionSucceeded, ""))
		}
		next := job.Mirror(child, served.Roles, start)
		counters.record(job, &next)
		job.Status = next
	}
	counters.sawGone("ns", job.kind)
	want := `
# HELP training_operator_jobs_created_total Number of Kubeflow jobs created
# TYPE training_operator_jobs_created_total counter
training_operator_jobs_created_total{framework="tensorflow",job_namespace="ns"} 1
# HELP training_operator_jobs_deleted_total Number of Kubeflow jobs deleted
# TYPE training_operator_jobs_deleted_total counter
training_operator_jobs_deleted_total{framework="tensorflow",job_namespace="ns"} 1
# HELP training_operator_jobs_restarted_total Number of Kubeflow jobs restarted
# TYPE training_operator_jobs_restarted_total counter
training_operator_jobs_restarted_total{framework="tensorflow",job_namespace="ns"} 2
# HELP training_operator_jobs_successful_total Number of Kubeflow jobs successful
# TYPE training_operator_jobs_successful_total counter
training_operator_jobs_successful_total{framework="tensorflow",job_namespace="ns"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
