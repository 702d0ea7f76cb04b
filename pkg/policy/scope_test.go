package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// TestDefaultScopes is the table of framework and role -> what restarts. Each scope is reached through a failure of the replica.
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
	v := policy.Judge(builder.Snapshot(job, builder.Failed(role, index, builder.Exit(1))))
	if len(v.Restarts) != 1 {
		t.Fatalf("one failure of %s-%d orders %d restarts", role, index, len(v.Restarts))
	}
	return v.Restarts[0].Scope
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

func TestOneIncident(t *testing.T) {
	custom := builder.Job("j", builder.Workers(3), builder.PS(2))
	byRole := builder.Job("j", builder.Workers(3, builder.Scope(v1alpha1.ScopeRole)), builder.PS(1))
	collective := builder.Job("j", pytorch, builder.Workers(3))
	exits := builder.Job("j", pytorch, builder.Workers(3, builder.Policy(v1alpha1.RestartExitCode)))
	failed := func(role string, index int, code int32, at int) builder.SnapshotOption {
		return builder.Failed(role, index, builder.Exit(code), builder.At(time.Duration(30+at)*second))
	}
	check(t, []judgeCase{
		{"several ranks of a collective fail: one restart, for the earliest",
			collective, seen(failed("worker", 0, 1, 3), failed("worker", 1, 1, 1), failed("worker", 2, 1, 2)),
			restart(0, "worker-1 Retryable Job charged")},
		{"in the same second the lowest rank is the reason",
			collective, seen(failed("worker", 2, 1, 1), failed("worker", 1, 1, 1)), restart(0, "worker-1 Retryable Job charged")},
		{"a lost pod explains an exit in the same second",
			collective, seen(failed("worker", 0, 1, 0), builder.Deleted("worker", 2, builder.DeletedAt(30*second))),
			lost(0, "worker-2 Infrastructure Job free")},
		{"a lost pod does not explain an earlier exit",
			collective, seen(failed("worker", 0, 1, 0), builder.Deleted("worker", 2, builder.DeletedAt(31*second))),
			restart(0, "worker-0 Retryable Job charged")},
		{"a node that is lost within the incident window explains an earlier exit",
			collective, seen(failed("worker", 0, 1, 0), builder.Running("worker", 1), builder.NodeLost(node1, 45*second)),
			lost(0, "worker-1 Infrastructure Job free")},
		{"a node that is lost after it does not",
			collective, seen(failed("worker", 0, 1, 0), builder.Running("worker", 1), builder.NodeLost(node1, 91*second), builder.Now(120*second)),
			restart(0, "worker-0 Retryable Job charged")},
		{"a drain explains only what came after it",
			collective, seen(failed("worker", 0, 1, 0), builder.Deleted("worker", 2, builder.DeletedAt(40*second), builder.Disrupted("EvictionByEvictionAPI", 40*second))),
			restart(0, "worker-0 Retryable Job charged")},
		{"a lost parameter server explains its worker's earlier exit",
			custom, seen(failed("worker", 0, 1, 0), builder.Running("ps", 1), builder.NodeLost("node-ps-1", 40*second)),
			lost(0, "ps-1 Infrastructure Job free")},
		{"a worker's lost node does not explain a parameter server's exit",
			custom, seen(failed("ps", 0, 1, 0), builder.Running("worker", 1), builder.NodeLost(node1, 40*second)),
			restart(0, "ps-0 Retryable Job charged")},
		{"a signal explains a permanent exit code in the same second",
			exits, seen(failed("worker", 0, 1, 0), failed("worker", 2, 137, 0)), restart(0, "worker-2 Retryable Job charged")},
		{"a permanent exit code that comes first fails the job",
			exits, seen(failed("worker", 0, 1, 0), failed("worker", 2, 137, 1)), fatal},
		{"a permanent exit code that comes later is a consequence",
			exits, seen(failed("worker", 0, 1, 1), failed("worker", 2, 137, 0)), restart(0, "worker-2 Retryable Job charged")},
		{"replicas with a life of their own are restarted one by one, earliest first",
			custom, seen(failed("worker", 0, 1, 2), failed("worker", 2, 1, 1), builder.Running("worker", 1)),
			restart(0, "worker-2 Retryable Replica charged", "worker-0 Retryable Replica joins")},
		{"a failure of scope Job takes the failures of narrower scope with it",
			custom, seen(failed("worker", 0, 1, 1), failed("ps", 1, 1, 2), failed("ps", 0, 1, 3)), restart(0, "ps-1 Retryable Job charged")},
		{"an independent fatal exit before it fails the job all the same",
			custom, seen(failed("worker", 0, 127, 1), failed("ps", 1, 1, 2)), fatal},
		{"a role is restarted once, however many of it fail",
			byRole, seen(failed("worker", 0, 1, 2), failed("worker", 2, 1, 1)), restart(0, "worker-2 Retryable Role charged")},
		{"a fatal exit among replicas of their own fails the job",
			custom, seen(failed("worker", 0, 1, 1), failed("worker", 1, 126, 2)), fatal},
		{"a lost pod and a failed one are charged by their own causes",
			custom, seen(builder.Gone("worker", 0), failed("worker", 1, 1, 1)),
			restart(0, "worker-1 Retryable Replica charged", "worker-0 Infrastructure Replica free")},
	})
}
