package failure_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A job fails by a budget only after as many charged restarts as its limit were made. So no fault of one moment uses up a budget, whatever
// the number of replicas that it ends.
func TestReplicasThatEndTogetherAreOneIncident(t *testing.T) {
	outside := func(job *v1alpha1.TrainingJob) {
		builder.Elastic(1, 12)(job)
		job.Spec.Elastic.Rendezvous = &v1alpha1.Rendezvous{Endpoint: "store:2379"}
	}
	known := func(at time.Duration) builder.JobOption {
		return builder.Incidents(incident(ofScope(v1alpha1.ScopeReplica), func(i *v1alpha1.Incident) {
			i.Index, i.Pod, i.Time, i.RestartTime = 3, "j-worker-3", builder.Time(at-second), builder.Time(at)
		}))
	}
	lost := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		loss := incident(ofScope(v1alpha1.ScopeReplica), ofCause(v1alpha1.CauseInfrastructure, false), func(i *v1alpha1.Incident) {
			i.Index, i.Pod, i.Reason, i.ExitCode, i.RestartTime = 3, "j-worker-3", v1alpha1.ReasonDeleted, nil, builder.Time(27*second)
		})
		return builder.Job("j", append(options, builder.Workers(12), builder.RunsSince(0), builder.Incidents(loss))...)
	}
	lossByRule := builder.Rules(rule{ExitCodes: []int32{77}, Cause: v1alpha1.CauseInfrastructure})
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{builder.Workers(12), builder.RunsSince(0)}, options...)...)
	}
	one := seen(builder.Failed("worker", 1, builder.Exit(1), builder.At(30*second)), builder.Now(30*second))
	var all []builder.SnapshotOption
	joined := "worker-0 Retryable Replica charged"
	for i := range 12 {
		all = append(all, builder.Failed("worker", i, builder.Exit(1)))
		if i > 0 {
			joined += fmt.Sprintf(", worker-%d Retryable Replica joins", i)
		}
	}
	checkRestarts(t, []restartCase{
		{"a fault that independent workers share", job(), all, joined},
		{"not a worker and an evaluator, if a rule makes both a loss", builder.Job("j", builder.Workers(1), builder.Evaluators(1), lossByRule),
			seen(builder.Failed("worker", 0, builder.Exit(77)), builder.Failed("evaluator", 0, builder.Exit(77))),
			"worker-0 Infrastructure Replica free by rule, evaluator-0 Infrastructure Replica free by rule"},
		{"two evaluators", builder.Job("j", builder.Workers(1), builder.Evaluators(2)),
			seen(builder.Failed("evaluator", 0, builder.Exit(1)), builder.Failed("evaluator", 1, builder.Exit(1))),
			"evaluator-0 Retryable Replica free, evaluator-1 Retryable Replica joins"},
		{"two workers, if a rule makes both a loss", builder.Job("j", builder.Workers(2), lossByRule),
			seen(builder.Failed("worker", 0, builder.Exit(77)), builder.Failed("worker", 1, builder.Exit(77))),
			"worker-0 Infrastructure Replica free by rule, worker-1 Infrastructure Replica joins"},
		{"agents of torchrun that meet outside the job", job(pytorch, outside), all, joined},
		{"a rank of an elastic job, after the loss of a peer", lost(pytorch, outside), one, "worker-1 Retryable Replica joins"},
		{"the leader of an elastic job, which restarts all, missed it too", lost(pytorch, builder.Elastic(1, 12)),
			seen(builder.Failed("worker", 0, builder.Exit(1), builder.At(30*second)), builder.Now(30*second)), "worker-0 Retryable Job free"},
		{"a rank of an elastic job that seems to have exited before a peer was lost, by the clock of its node", job(pytorch, outside),
			append(one, builder.Now(35*second),
				builder.Failed("worker", 3, builder.Exit(137), builder.At(33*second), builder.Rejected("Evicted", "The node was low on resource: memory."))),
			"worker-1 Retryable Replica joins, worker-3 Infrastructure Replica free"},
		{"not a rank that exited before a peer was deleted", job(pytorch, outside),
			append(one, builder.Deleted("worker", 3, builder.DeletedAt(33*second)), builder.Now(35*second)),
			"worker-1 Retryable Replica charged, worker-3 Infrastructure Replica free"},
		{"not a worker that needs no other", lost(), one, "worker-1 Retryable Replica charged"},
		{"another end within seconds", job(known(27 * second)), one, "worker-1 Retryable Replica joins"},
		{"one that comes later", job(known(19 * second)), one, "worker-1 Retryable Replica charged"},
		{"one that was within seconds, and is seen later", job(known(27 * second)), append(one, builder.Now(60*second)), "worker-1 Retryable Replica joins"},
		{"another end, when the first runs again", job(known(27 * second)), append(one, builder.Running("worker", 3)), "worker-1 Retryable Replica joins"},
		{"the new life of a replica of the incident", job(known(27*second),
			builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{NextStarts: "1:1767614427"})), one, "worker-1 Retryable Replica charged"},
	})
}

// A restart of the role restarts the replicas that would restart alone, whichever ended first.
func TestARoleThatRestartsCoversItsReplicas(t *testing.T) {
	job := builder.Job("j", builder.Workers(3), builder.Rules(rule{ExitCodes: []int32{42}, Scope: v1alpha1.ScopeRole}))
	for _, role := range []time.Duration{27 * second, 29 * second} {
		s := builder.Snapshot(job, builder.Failed("worker", 0, builder.Exit(42), builder.At(role)),
			builder.Failed("worker", 1, builder.Exit(1), builder.At(28*second)), builder.Running("worker", 2))
		if got, want := restarts(s), "worker-0 Retryable Role charged"; got != want {
			t.Errorf("the role at %v, a replica at 28 s: %q, want %q", role, got, want)
		}
	}
}
