package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// failedWorkers returns workers 0 to n - 1, which exited with 1 at 30 s.
func failedWorkers(n int) []builder.SnapshotOption {
	var options []builder.SnapshotOption
	for i := range n {
		options = append(options, builder.Failed("worker", i, builder.Exit(1)))
	}
	return options
}

// workersJoin returns the restart of the lowest worker, which is charged, and of n - 1 others, which join it.
func workersJoin(n int) judged {
	restarts := []string{"worker-0 Retryable Replica charged"}
	for i := range n - 1 {
		restarts = append(restarts, fmt.Sprintf("worker-%d Retryable Replica joins", i+1))
	}
	return restart(0, restarts...)
}

// A job fails by a budget only after as many charged restarts as its limit were made. So no fault of one moment uses up a budget, whatever
// the number of replicas that it ends.
func TestReplicasThatEndTogetherAreOneIncident(t *testing.T) {
	twelve := builder.Workers(12)
	outside := func(job *v1alpha1.TrainingJob) {
		builder.Elastic(1, 12)(job)
		job.Spec.Elastic.Rendezvous = &v1alpha1.Rendezvous{Endpoint: "store:2379"}
	}
	known := func(at time.Duration, scope v1alpha1.RestartScope) builder.JobOption {
		return builder.Incidents(v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 3, Cause: v1alpha1.CauseRetryable, Pod: "j-worker-3",
			Time: builder.Time(at)}, Scope: scope, Charged: true, RestartTime: builder.Time(at)})
	}
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{twelve, builder.RunsSince(0)}, options...)...)
	}
	one := func(seconds int) []builder.SnapshotOption {
		return seen(builder.Failed("worker", 1, builder.Exit(1), builder.At(time.Duration(seconds)*second)), builder.Now(time.Duration(seconds)*second))
	}
	check(t, []judgeCase{
		{"a fault that independent workers share", job(), failedWorkers(12), workersJoin(12)},
		{"with one restart left", job(builder.MaxRestarts(1)), failedWorkers(12), workersJoin(12)},
		{"with none left", job(builder.MaxRestarts(0)), failedWorkers(12), spent},
		{"agents of torchrun that meet outside the job", job(pytorch, outside), failedWorkers(12), workersJoin(12)},
		{"another end within seconds", job(known(27*second, v1alpha1.ScopeReplica)), one(30), restart(0, "worker-1 Retryable Replica joins")},
		{"one that comes later", job(known(20*second, v1alpha1.ScopeReplica)), one(30), restart(0, "worker-1 Retryable Replica charged")},
		{"after the first runs again", job(known(27*second, v1alpha1.ScopeReplica)), append(one(30), builder.Running("worker", 3)), restart(0, "worker-1 Retryable Replica charged")},
		{"the new life of a replica of the incident", job(known(27*second, v1alpha1.ScopeReplica),
			builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{NextStarts: "1:1767614427"})), one(30), restart(0, "worker-1 Retryable Replica charged")},
	})
}

// The workers of a lost parameter server lose their connections and end before Kubernetes shows what broke.
func TestTheExitOfAWorkerWaitsForTheParameterServers(t *testing.T) {
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{tensorflow, builder.Workers(12), builder.PS(1), builder.RunsSince(0)}, options...)...)
	}
	now := func(d time.Duration, more ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(append(failedWorkers(12), builder.Now(d)), more...)
	}
	held := judged{Ruling: policy.Hold, Reason: v1alpha1.ReasonRestartHeld, Wake: 32*second + 500*time.Millisecond}
	check(t, []judgeCase{
		{"it waits", job(), now(30*second, builder.Running("ps", 0)), held},
		{"and does not fail the job meanwhile", job(builder.MaxRestarts(0)), now(30*second, builder.Running("ps", 0)), held},
		{"the server ended as well", job(), now(30*second, builder.Failed("ps", 0, builder.Exit(137))), restart(0, "ps-0 Retryable Job charged")},
		{"the server runs", job(), now(33*second, builder.Running("ps", 0)), workersJoin(12)},
		{"a worker that was killed did not follow", job(), seen(builder.Running("ps", 0), builder.Failed("worker", 0, builder.Exit(137)), builder.Now(30*second)), workersJoin(1)},
		{"a lost server explains its workers", job(), now(60*second, builder.Running("ps", 0), builder.NodeLost("node-ps-0", 29*second)), lost(0, "ps-0 Infrastructure Job free")},
	})
}

// The limit of evaluatorRestarts, 3 here, is used up.
func TestAnEvaluatorThatEndsWithAnotherIsPartOfItsIncident(t *testing.T) {
	evaluator := func(at time.Duration) v1alpha1.Incident {
		return v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Evaluator, Cause: v1alpha1.CauseRetryable, Pod: "j-evaluator-0", Time: builder.Time(at)},
			Scope: v1alpha1.ScopeReplica, RestartTime: builder.Time(at)}
	}
	job := func(known v1alpha1.Incident) *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(1), builder.Evaluators(2), builder.MaxRestarts(3), builder.RunsSince(0), builder.Incidents(known),
			builder.Charged(v1alpha1.BudgetEvaluatorRestarts, 1*second, 2*second, 27*second))
	}
	ends := func(code int32) []builder.SnapshotOption {
		return seen(builder.Running("worker", 0), builder.Failed("evaluator", 1, builder.Exit(code), builder.At(30*second)), builder.Now(30*second))
	}
	check(t, []judgeCase{
		{"it is replaced beyond the budget", job(evaluator(27 * second)), ends(1), restart(0, "evaluator-1 Retryable Replica joins")},
		{"it is left after another incident", job(evaluator(20 * second)), ends(1), judged{}},
		{"it is left after a fatal exit", job(evaluator(27 * second)), ends(127), judged{}},
	})
}

func TestAWorkerDoesNotJoinTheIncidentOfAnEvaluator(t *testing.T) {
	lossByRule := builder.Rules(v1alpha1.RecoveryRule{Name: "link", ExitCodes: []int32{77}, Cause: v1alpha1.CauseInfrastructure})
	check(t, []judgeCase{{"a rule makes both a loss", builder.Job("j", builder.Workers(1), builder.Evaluators(1), lossByRule, builder.RunsSince(0)),
		seen(builder.Failed("worker", 0, builder.Exit(77)), builder.Failed("evaluator", 0, builder.Exit(77))),
		lost(0, "worker-0 Infrastructure Replica free", "evaluator-0 Infrastructure Replica free")}})
}

// A restart of the role restarts the replicas that would restart alone, whichever ended first.
func TestARoleThatRestartsCoversItsReplicas(t *testing.T) {
	ofTheRole := builder.Rules(v1alpha1.RecoveryRule{Name: "shard", ExitCodes: []int32{42}, Scope: v1alpha1.ScopeRole})
	job := func() *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(3), ofTheRole, builder.RunsSince(0))
	}
	at := func(role, replica time.Duration) []builder.SnapshotOption {
		return seen(builder.Failed("worker", 0, builder.Exit(42), builder.At(role)), builder.Failed("worker", 1, builder.Exit(1), builder.At(replica)),
			builder.Running("worker", 2), builder.Now(30*second))
	}
	check(t, []judgeCase{
		{"the role first", job(), at(27*second, 28*second), restart(0, "worker-0 Retryable Role charged")},
		{"a replica first", job(), at(28*second, 27*second), restart(0, "worker-0 Retryable Role charged")},
	})
	got := policy.Judge(builder.Snapshot(job(), at(28*second, 27*second)...)).Restarts
	if len(got) != 1 || got[0].Followers != 2 {
		t.Errorf("%+v, want one restart with 2 followers", got)
	}
}

// The incident counts all replicas that restart with it, whether they ended or not.
func TestARoleThatJoinsIsCountedWhole(t *testing.T) {
	ofTheRole := builder.Rules(v1alpha1.RecoveryRule{Name: "shard", ExitCodes: []int32{42}, Roles: []v1alpha1.Role{v1alpha1.Worker}, Scope: v1alpha1.ScopeRole})
	job := builder.Job("j", builder.Workers(3), builder.Leader(v1alpha1.Master), builder.AnyWorker(), ofTheRole, builder.RunsSince(0))
	got := policy.Judge(builder.Snapshot(job, builder.Failed("master", 0, builder.Exit(1), builder.At(28*second)),
		builder.Failed("worker", 0, builder.Exit(42), builder.At(29*second)), builder.Running("worker", 1), builder.Running("worker", 2), builder.Now(30*second)))
	if len(got.Restarts) != 2 || got.Restarts[0].Followers != 3 || got.Accounts.Incidents[0].Followers != 3 {
		t.Errorf("%+v, want an incident with 3 followers", got.Restarts)
	}
}
