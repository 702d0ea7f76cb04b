package failure_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

// TestDefaultScopes is the table of framework and role -> what restarts: the roles whose failure restarts the whole job. Every other failure
// restarts its replica.
func TestDefaultScopes(t *testing.T) {
	chief, master, launcher := builder.Leader(v1alpha1.Chief), builder.Leader(v1alpha1.Master), builder.Leader(v1alpha1.Launcher)
	workers, ps, evaluator, elastic := builder.Workers(3), builder.PS(2), builder.Evaluators(2), builder.Elastic(1, 4)
	for name, c := range map[string]struct {
		job   *v1alpha1.TrainingJob
		whole string
	}{
		"TensorFlow with PS":       {builder.Job("j", tensorflow, chief, workers, ps, evaluator), "ps"},
		"TensorFlow without PS":    {builder.Job("j", tensorflow, chief, workers, evaluator), "worker chief"},
		"PyTorch with a master":    {builder.Job("j", pytorch, master, workers, evaluator), "worker master"},
		"PyTorch without a master": {builder.Job("j", pytorch, workers), "worker"},
		"JAX":                      {builder.Job("j", jax, workers, evaluator), "worker"},
		"elastic PyTorch, whose master hosts the rendezvous": {builder.Job("j", pytorch, master, workers, elastic), "master"},
		"Custom":                               {builder.Job("j", chief, workers, ps, evaluator), "ps"},
		"Custom with a master":                 {builder.Job("j", master, workers), ""},
		"Custom with roles of its own":         {builder.Job("j", workers, builder.Replicas("actor", 2), builder.Replicas("learner", 1)), ""},
		"Custom with a launcher":               {builder.Job("j", launcher, workers), "launcher"},
		"Custom whose workers need each other": {builder.Job("j", builder.Workers(2, builder.Scope(v1alpha1.ScopeJob)), builder.Replicas("board", 1)), "worker"},
	} {
		for role := range c.job.Spec.ReplicaSpecs {
			text, want := strings.ToLower(string(role)), v1alpha1.ScopeReplica
			if slices.Contains(strings.Fields(c.whole), text) {
				want = v1alpha1.ScopeJob
			}
			if got := scopeWhenFailing(t, c.job, text, int(c.job.Spec.Replicas(role))-1); got != want {
				t.Errorf("%s: the scope of a %s is %s, want %s", name, role, got, want)
			}
		}
	}
}

func scopeWhenFailing(t *testing.T, job *v1alpha1.TrainingJob, role string, index int) v1alpha1.RestartScope {
	t.Helper()
	found := failure.Find(builder.Snapshot(job, builder.Failed(role, index, builder.Exit(1))))
	if len(found) != 1 {
		t.Fatalf("one exit of %s-%d gives %d failures", role, index, len(found))
	}
	return found[0].Scope
}

func TestWorkerZeroOfAnElasticJobHostsTheRendezvous(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(3), builder.Elastic(1, 4))
	for index, want := range []v1alpha1.RestartScope{v1alpha1.ScopeJob, v1alpha1.ScopeReplica, v1alpha1.ScopeReplica} {
		if got := scopeWhenFailing(t, job, "worker", index); got != want {
			t.Errorf("the scope of worker %d is %s, want %s", index, got, want)
		}
	}
}

func TestRestartScopeOverridesEveryDefault(t *testing.T) {
	for _, framework := range []v1alpha1.Framework{v1alpha1.TensorFlow, v1alpha1.PyTorch, v1alpha1.JAX, v1alpha1.Custom} {
		for _, scope := range []v1alpha1.RestartScope{v1alpha1.ScopeReplica, v1alpha1.ScopeRole, v1alpha1.ScopeJob} {
			job := builder.Job("j", builder.Framework(framework), builder.Workers(2), builder.PS(1), builder.Evaluators(1),
				builder.Leader(v1alpha1.Launcher), builder.EveryRole(builder.Scope(scope)))
			for _, role := range []string{"worker", "ps", "evaluator", "launcher"} {
				if got := scopeWhenFailing(t, job, role, 0); got != scope {
					t.Errorf("restartScope %s of %s in %s is taken for %s", scope, role, framework, got)
				}
			}
		}
	}
}
