package policy_test

import (
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestSucceeded(t *testing.T) {
	always := func(role v1alpha1.Role) builder.JobOption {
		return builder.Of(role, builder.Policy(v1alpha1.RestartAlways))
	}
	done := func(wait time.Duration, orders ...string) judged {
		return judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonReplicaCompleted, Restarts: orders, Wait: wait}
	}
	remembered := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Succeeded: "0"})
	check(t, []judgeCase{
		{"worker 0 leads a job without chief, master or launcher",
			builder.Job("j", builder.Workers(2)), seen(builder.Succeeded("worker", 0), builder.Running("worker", 1)), leader},
		{"another worker's success is not the job's",
			builder.Job("j", builder.Workers(2)), seen(builder.Running("worker", 0), builder.Succeeded("worker", 1)), judged{}},
		{"the chief leads",
			builder.Job("j", tensorflow, builder.Leader(v1alpha1.Chief), builder.Workers(1), builder.PS(1)),
			seen(builder.Succeeded("chief", 0), builder.Running("worker", 0), builder.Running("ps", 0)), leader},
		{"the master leads",
			builder.Job("j", pytorch, builder.Leader(v1alpha1.Master), builder.Workers(1)), seen(builder.Succeeded("master", 0)), leader},
		{"the launcher leads",
			builder.Job("j", builder.Leader(v1alpha1.Launcher), builder.Workers(1)), seen(builder.Succeeded("launcher", 0)), leader},
		{"with a chief, worker 0's success is not the job's",
			builder.Job("j", tensorflow, builder.Leader(v1alpha1.Chief), builder.Workers(1)),
			seen(builder.Running("chief", 0), builder.Succeeded("worker", 0)), judged{}},
		{"all workers: one is missing",
			builder.Job("j", builder.AllWorkers(), builder.Workers(2)),
			seen(builder.Succeeded("worker", 0), builder.Running("worker", 1)), judged{}},
		{"all workers: all have succeeded, parameter servers and evaluators do not count",
			builder.Job("j", tensorflow, builder.AllWorkers(), builder.Workers(2), builder.PS(1), builder.Evaluators(1)),
			seen(builder.Succeeded("worker", 0), builder.Succeeded("worker", 1), builder.Running("ps", 0), builder.Running("evaluator", 0)), all},
		{"all workers: the chief is one of them",
			builder.Job("j", tensorflow, builder.AllWorkers(), builder.Leader(v1alpha1.Chief), builder.Workers(1)),
			seen(builder.Running("chief", 0), builder.Succeeded("worker", 0)), judged{}},
		{"all workers: one of an elastic collective never ran, and minReplicas others have succeeded",
			builder.Job("j", pytorch, builder.AllWorkers(), builder.Workers(3), builder.Elastic(2, 3)),
			seen(builder.Succeeded("worker", 0), builder.Succeeded("worker", 1), builder.Pending("worker", 2, builder.Unschedulable("no room"))), all},
		{"all workers: a quota refuses its pod, which those that have succeeded fill",
			builder.Job("j", pytorch, builder.AllWorkers(), builder.Workers(3), builder.Elastic(2, 3)),
			seen(builder.Succeeded("worker", 0), builder.Succeeded("worker", 1), builder.Refused(v1alpha1.ReasonQuotaExceeded, "no", 70*second)), all},
		{"all workers: not if fewer have",
			builder.Job("j", pytorch, builder.AllWorkers(), builder.Workers(3), builder.Elastic(3, 3)),
			seen(builder.Succeeded("worker", 0), builder.Succeeded("worker", 1), builder.Pending("worker", 2, builder.Unschedulable("no room"))), judged{}},
		{"all workers: not while another one runs",
			builder.Job("j", pytorch, builder.AllWorkers(), builder.Workers(3), builder.Elastic(1, 3)),
			seen(builder.Succeeded("worker", 0), builder.Running("worker", 1), builder.Pending("worker", 2, builder.Unschedulable("no room"))), judged{}},
		{"any worker: the first that succeeds, beside one that has failed",
			builder.Job("j", pytorch, builder.AnyWorker(), builder.Workers(3), builder.Elastic(1, 3)),
			seen(builder.Running("worker", 0), builder.Succeeded("worker", 1), builder.Failed("worker", 2, builder.Exit(1))), first},
		{"any worker: none yet", builder.Job("j", builder.AnyWorker(), builder.Workers(2)),
			seen(builder.Running("worker", 0), builder.Running("worker", 1)), judged{}},
		{"any worker: not a parameter server or an evaluator",
			builder.Job("j", tensorflow, builder.AnyWorker(), builder.Workers(1), builder.PS(1), builder.Evaluators(1)),
			seen(builder.Running("worker", 0), builder.Succeeded("ps", 0), builder.Succeeded("evaluator", 0)), judged{}},
		{"any worker: Always restarts no worker, whose success is the job's",
			builder.Job("j", always(v1alpha1.Worker), builder.AnyWorker(), builder.Workers(2)),
			seen(builder.Running("worker", 0), builder.Succeeded("worker", 1)), first},
		{"success that the status remembers counts although the pod is gone",
			builder.Job("j", builder.Workers(1), remembered), nil, leader},
		{"success wins over a failure seen at the same time",
			builder.Job("j", pytorch, builder.Workers(2)),
			seen(builder.Succeeded("worker", 0), builder.Failed("worker", 1, builder.Exit(1))), leader},
		{"success of a past life is none",
			builder.Job("j", builder.Workers(1), builder.Attempt(1)), seen(builder.Succeeded("worker", 0, builder.Life(0, 0))), judged{}},
		{"exit code 0 after the pod was deleted is a loss, not success",
			builder.Job("j", builder.Workers(1)),
			seen(builder.Succeeded("worker", 0, builder.At(30*second), builder.DeletedAt(20*second))),
			lost(0, "worker-0 Infrastructure Replica free")},
		{"exit code 0 that seems to be from before the deletion is a loss: the API server moves that time on",
			builder.Job("j", builder.Workers(1)),
			seen(builder.Succeeded("worker", 0, builder.At(20*second), builder.DeletedAt(30*second))),
			lost(0, "worker-0 Infrastructure Replica free")},
		{"success that was recorded before the deletion stays",
			builder.Job("j", builder.Workers(1), remembered),
			seen(builder.Succeeded("worker", 0, builder.At(20*second), builder.DeletedAt(30*second))), leader},
		{"Always does not restart the leader, for whose success the job waits",
			builder.Job("j", always(v1alpha1.Worker), builder.Workers(1)), seen(builder.Succeeded("worker", 0)), leader},
		{"Always restarts a worker whose success the job does not need",
			builder.Job("j", always(v1alpha1.Worker), builder.Workers(2)),
			seen(builder.Running("worker", 0), builder.Succeeded("worker", 1)), done(0, "worker-1 Completed Replica free")},
		{"nor a rank of a collective, which would find no peers",
			builder.Job("j", pytorch, always(v1alpha1.Worker), builder.Workers(2)),
			seen(builder.Running("worker", 0), builder.Succeeded("worker", 1)), judged{}},
		{"however often it did so, under any rules and budgets",
			builder.Job("j", builder.Leader(v1alpha1.Master), builder.Replicas("loader", 1, builder.Policy(v1alpha1.RestartAlways)), builder.MaxRestarts(0),
				builder.Rules(v1alpha1.RecoveryRule{Roles: []v1alpha1.Role{"loader"}, Cause: v1alpha1.CauseFatal})),
			seen(builder.Running("master", 0), builder.Succeeded("loader", 0)), done(0, "loader-0 Completed Replica free")},
		{"a failure beside it is the reason",
			builder.Job("j", always(v1alpha1.Worker), builder.Workers(3)),
			seen(builder.Running("worker", 0), builder.Succeeded("worker", 1, builder.At(10*second)), builder.Failed("worker", 2, builder.Exit(1), builder.At(20*second))),
			restart(0, "worker-2 Retryable Replica charged", "worker-1 Completed Replica free")},
		{"Always does not restart a worker when the job waits for all",
			builder.Job("j", always(v1alpha1.Worker), builder.AllWorkers(), builder.Workers(2)),
			seen(builder.Running("worker", 0), builder.Succeeded("worker", 1)), judged{}},
		{"Always restarts a parameter server that exits with code 0",
			builder.Job("j", tensorflow, always(v1alpha1.PS), builder.Workers(1), builder.PS(1)),
			seen(builder.Running("worker", 0), builder.Succeeded("ps", 0)), done(0, "ps-0 Completed Replica free")},
	})
}

// A program that completes every few seconds must not displace the incidents that late evidence may explain.
func TestCompletionsDoNotDisplaceFailures(t *testing.T) {
	job := builder.Job("j", builder.Framework(v1alpha1.Custom), builder.Workers(2), builder.StartedAt(0), builder.RunsSince(0),
		builder.Replicas("loader", 1, builder.Policy(v1alpha1.RestartAlways)))
	failure := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Pod: "j-worker-1", Cause: v1alpha1.CauseRetryable, Reason: "Error"}, Charged: true, Scope: v1alpha1.ScopeReplica}
	job.Status.Incidents = []v1alpha1.Incident{failure}
	for range 2 * v1alpha1.MaxIncidents {
		v := policy.Judge(builder.Snapshot(job, builder.Running("worker", 0), builder.Running("worker", 1), builder.Succeeded("loader", 0)))
		job.Status.Incidents = v.Accounts.Incidents
	}
	if got := job.Status.Incidents; len(got) != 2 || got[0].Cause != v1alpha1.CauseCompleted || got[1].Cause != v1alpha1.CauseRetryable {
		t.Errorf("incidents %+v, want the latest completion and the failure", got)
	}
}
