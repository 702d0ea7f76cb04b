package builder

import (
	"maps"
	"time"

	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// ArbitraryPast draws a job with a history, and with these options: budgets, incidents and conditions that may or may not fit together.
func ArbitraryPast(t *rapid.T, options ...JobOption) *v1alpha1.TrainingJob {
	job := ArbitraryJob().Draw(t, "job")
	job.Status.Attempt = rapid.Int32Range(0, 2).Draw(t, "attempt")
	for _, some := range []JobOption{
		RunsSince(50 * time.Second), StartedAt(0), CheckpointRequested(145 * time.Second), RestartsInRow(2), Avoided("n1", 200*time.Second),
		Charged(v1alpha1.BudgetRestarts, 0, 90*time.Second), Charged(v1alpha1.BudgetOOMRestarts, 100*time.Second),
		Incidents(pastIncident(v1alpha1.ScopeJob), pastIncident(v1alpha1.ScopeReplica)),
		Status(func(status *v1alpha1.TrainingJobStatus) {
			status.Progress, status.Memory.RestartsWithoutProgress = &v1alpha1.ProgressStatus{Step: 2}, 2
		}),
		Condition(v1alpha1.ConditionSuspended, true, "", 60*time.Second), Condition(v1alpha1.ConditionFinished, true, "", 60*time.Second),
		Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0-2", Replacements: "1:1"}),
		Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Succeeded: "1"}),
	} {
		if rapid.IntRange(0, 3).Draw(t, "is so") == 0 {
			some(job)
		}
	}
	job.Annotations = maps.Clone(job.Annotations)
	if rapid.IntRange(0, 3).Draw(t, "is requested") == 0 {
		if job.Annotations == nil {
			job.Annotations = map[string]string{}
		}
		requests := rapid.SampledFrom([]string{"again", "worker-0: slow", "worker-1", "worker-9: gone", "evaluator-0: slow"})
		job.Annotations[v1alpha1.AnnotationRestart] = requests.Draw(t, "request")
	}
	for _, option := range options {
		option(job)
	}
	return job
}

// ArbitrarySnapshot draws what is seen of such a job 150 s after Epoch.
func ArbitrarySnapshot(t *rapid.T, options ...JobOption) *state.Snapshot {
	job := ArbitraryPast(t, options...)
	return Snapshot(job, ArbitraryPods(job, 150*time.Second).Draw(t, "pods")...)
}

// pastIncident is an earlier restart of the job: worker-0 exited with code 1 at 30 s, and the restart began 2 s later.
func pastIncident(scope v1alpha1.RestartScope) v1alpha1.Incident {
	one := int32(1)
	return v1alpha1.Incident{
		Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Pod: "j-worker-0", Node: "node-worker-0",
			ExitCode: &one, Reason: "Error", Time: Time(30 * time.Second)},
		Scope: scope, Charged: true, RestartTime: Time(32 * time.Second),
	}
}
