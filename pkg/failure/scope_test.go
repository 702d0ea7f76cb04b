package failure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

// TestDefaultScopes is the table of framework and role -> what restarts. The scope is that of a failure of the replica.
func TestDefaultScopes(t *testing.T) {
	chief, master, launcher := builder.Leader(v1alpha1.Chief), builder.Leader(v1alpha1.Master), builder.Leader(v1alpha1.Launcher)
	workers, ps, evaluator, elastic := builder.Workers(3), builder.PS(2), builder.Evaluators(2), builder.Elastic(1, 4)
	const replica, whole = v1alpha1.ScopeReplica, v1alpha1.ScopeJob
	cases := []struct {
		name string
		job  *v1alpha1.TrainingJob
		want map[string]v1alpha1.RestartScope
	}{
		{"TensorFlow with PS", builder.Job("j", tensorflow, chief, workers, ps, evaluator),
			map[string]v1alpha1.RestartScope{"worker": replica, "chief": replica, "ps": whole, "evaluator": replica}},
		{"TensorFlow without PS", builder.Job("j", tensorflow, chief, workers, evaluator),
			map[string]v1alpha1.RestartScope{"worker": whole, "chief": whole, "evaluator": replica}},
		{"PyTorch with a master", builder.Job("j", pytorch, master, workers, evaluator),
			map[string]v1alpha1.RestartScope{"worker": whole, "master": whole, "evaluator": replica}},
		{"PyTorch without a master", builder.Job("j", pytorch, workers),
			map[string]v1alpha1.RestartScope{"worker": whole}},
		{"JAX", builder.Job("j", jax, workers, evaluator),
			map[string]v1alpha1.RestartScope{"worker": whole, "evaluator": replica}},
		{"elastic PyTorch with a master, which hosts the rendezvous", builder.Job("j", pytorch, master, workers, elastic),
			map[string]v1alpha1.RestartScope{"worker": replica, "master": whole}},
		{"Custom", builder.Job("j", chief, workers, ps, evaluator),
			map[string]v1alpha1.RestartScope{"worker": replica, "chief": replica, "ps": whole, "evaluator": replica}},
		{"Custom with a master", builder.Job("j", master, workers),
			map[string]v1alpha1.RestartScope{"worker": replica, "master": replica}},
		{"Custom with roles of its own", builder.Job("j", workers, builder.Replicas("actor", 2), builder.Replicas("learner", 1)),
			map[string]v1alpha1.RestartScope{"worker": replica, "actor": replica, "learner": replica}},
		{"Custom with a launcher", builder.Job("j", launcher, workers),
			map[string]v1alpha1.RestartScope{"worker": replica, "launcher": whole}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := map[string]v1alpha1.RestartScope{}
			for role := range c.want {
				index := int(c.job.Spec.Replicas(builder.Role(role))) - 1
				got[role] = scopeWhenFailing(t, c.job, role, index)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("wrong scopes (-want +got):\n%s", diff)
			}
		})
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
	got := []v1alpha1.RestartScope{scopeWhenFailing(t, job, "worker", 0), scopeWhenFailing(t, job, "worker", 1)}
	if diff := cmp.Diff([]v1alpha1.RestartScope{v1alpha1.ScopeJob, v1alpha1.ScopeReplica}, got); diff != "" {
		t.Errorf("wrong scopes of worker 0 and 1 (-want +got):\n%s", diff)
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
