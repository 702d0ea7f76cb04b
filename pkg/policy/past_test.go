package policy_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// incident is an earlier restart of the job: worker-0 exited with code 1 at 30 s, and all restarted 2 s later.
func incident(changes ...func(*v1alpha1.Incident)) v1alpha1.Incident {
	one := int32(1)
	i := v1alpha1.Incident{
		Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Pod: "j-worker-0", Node: "node-worker-0",
			ExitCode: &one, Reason: "Error", Time: builder.Time(30 * second)},
		Scope: v1alpha1.ScopeJob, Charged: true, RestartTime: builder.Time(32 * second),
	}
	for _, change := range changes {
		change(&i)
	}
	return i
}

// ofScope changes the scope of an incident.
func ofScope(scope v1alpha1.RestartScope) func(*v1alpha1.Incident) {
	return func(i *v1alpha1.Incident) { i.Scope = scope }
}

func restarted(options ...builder.JobOption) *v1alpha1.TrainingJob {
	return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(3), builder.Attempt(1), builder.StartedAt(0), builder.Incidents(incident())}, options...)...)
}

// past is a pod of the attempt that the incident ended.
var past = builder.Life(0, 0)

// An exit that no restart can fix fails the job, even if it came before a restart and shows only now.
func TestFatalEvidenceFailsTheJob(t *testing.T) {
	fatalExit := builder.Failed("worker", 2, past, builder.Exit(127), builder.At(20*second))
	again := incident(func(i *v1alpha1.Incident) {
		i.Attempt, i.Pod, i.RestartTime = 1, "j-worker-0-a1r0", builder.Time(50*second)
	})
	check(t, []judgeCase{
		{"it came before the failure that the job was restarted for", restarted(), seen(fatalExit), fatal},
		{"it came in the same second, and no other exited so", restarted(), seen(builder.Failed("worker", 2, past, builder.Exit(127), builder.At(30*second))), fatal},
		{"it came later", restarted(), seen(builder.Failed("worker", 2, past, builder.Exit(127), builder.At(31*second))), judged{}},
		{"the incident is not the latest", restarted(builder.Attempt(2), builder.Incidents(again, incident())), seen(fatalExit), judged{}},
		{"a rule calls it fatal", restarted(builder.Rules(rule{ExitCodes: []int32{7}, Cause: v1alpha1.CauseFatal})),
			seen(builder.Failed("worker", 2, past, builder.Exit(7), builder.At(20*second))), judged{Ruling: policy.Fail, Reason: v1alpha1.ReasonFailJobRule}},
		{"a finished job stays as it is", restarted(builder.Condition(v1alpha1.ConditionFinished, true, "", 0)), seen(fatalExit), judged{Ruling: policy.Final}},
	})
}
