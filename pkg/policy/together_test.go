package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/builder"
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
