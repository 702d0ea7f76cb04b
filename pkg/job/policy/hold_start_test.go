package policy_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// An impatient member must not end an attempt while another is still pulling its image.
func TestARestartWaitsForAMemberThatIsStillStarting(t *testing.T) {
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(3), builder.StartedAt(0)}, options...)...)
	}
	failed, pulling := builder.Failed("worker", 1, builder.Exit(1)), builder.Pending("worker", 2, builder.Waiting("ContainerCreating", ""))
	held := func(wake int) judged {
		return judged{Ruling: policy.Hold, Reason: v1alpha1.ReasonRestartHeld, Wake: timesSecond(wake)}
	}
	goes := restart(0, "worker-1 Retryable Job charged")
	requests := func(job *v1alpha1.TrainingJob) {
		builder.Condition(v1alpha1.ConditionCreated, true, "", 0)(job)
		job.Annotations = map[string]string{v1alpha1.AnnotationRestart: "now"}
	}
	custom := builder.Framework(v1alpha1.Custom)
	check(t, []judgeCase{
		{"it waits", job(), seen(failed, pulling), held(0)},
		{"a lost member waits as well", job(), seen(builder.Deleted("worker", 1), pulling), held(0)},
		{"it waits no longer than startupDeadlineSeconds", job(builder.StartupDeadline(90)), seen(failed, pulling), held(90)},
		{"then it goes", job(builder.StartupDeadline(60)), seen(failed, pulling), goes},
		{"the deadline does not pass while a preflight check runs", job(builder.StartupDeadline(20)), seen(failed, pulling, builder.Pending("worker", 0, builder.Checking())), held(0)},
		{"nor does the time of the longest one count", job(builder.StartupDeadline(20)),
			seen(failed, builder.Pending("worker", 2, builder.Waiting("ContainerCreating", ""), builder.Checked(50*second)), builder.Running("worker", 0, builder.Checked(45*second))), held(70)},
		{"it does not wait when the others run", job(), seen(failed, builder.Running("worker", 0), builder.Running("worker", 2)), goes},
		{"it does not wait once a restart is requested", job(requests), seen(failed, pulling), goes},
		{"it does not wait once the attempt has run", job(builder.RunsSince(10 * second)), seen(failed, pulling), goes},
		{"it does not wait for a member that has no node, and is not charged: the others wait for that member, and give up", job(),
			seen(failed, builder.Pending("worker", 2, builder.Unschedulable("no room"))), restart(0, "worker-1 Retryable Job free")},
		{"a member that has run in this attempt explains nothing", job(builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "2"})),
			seen(failed, builder.Pending("worker", 2, builder.Unschedulable("no room"))), goes},
		{"it does not wait for a member that has no pod", job(), seen(failed), goes},
		{"it does not wait for a member that is going", job(), seen(failed, builder.Pending("worker", 2, builder.On("n"), builder.DeletedAt(30*second))), goes},
		{"it does not wait for a member whose node is lost", job(),
			seen(failed, builder.Pending("worker", 2, builder.On("n")), builder.NodeLost("n", 40*second)), lost(0, "worker-2 Infrastructure Job free")},
		{"it does not wait for an evaluator", job(builder.Evaluators(1)), seen(failed, builder.Pending("evaluator", 0, builder.On("n"))), goes},
		{"a replica that is replaced alone does not wait", job(custom), seen(failed, pulling), restart(0, "worker-1 Retryable Replica charged")},
		{"a role that is replaced waits for its own", job(custom, builder.Of(v1alpha1.Worker, builder.Scope(v1alpha1.ScopeRole))), seen(failed, pulling), held(0)},
		{"but not for another role", job(custom, builder.PS(1), builder.Of(v1alpha1.Worker, builder.Scope(v1alpha1.ScopeRole))),
			seen(failed, builder.Pending("ps", 0, builder.On("n"))), restart(0, "worker-1 Retryable Role charged")},
		{"a fatal exit does not wait", job(), seen(builder.Failed("worker", 1, builder.Exit(127)), pulling), fatal},
		{"a budget that is used up does not wait", job(builder.MaxRestarts(0)), seen(failed, pulling), spent},
		{"a node in trouble sets the time to look again", job(builder.StartupDeadline(90)), seen(failed, pulling, builder.NodeLost("node-1", 50*second)), held(65)},
	})
}

func TestARestartThatWaitsSaysForWhom(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0))
	for starting, pod := range map[string]builder.SnapshotOption{
		"node-1 (ImagePullBackOff)": builder.Pending("worker", 1, builder.On("node-1"), builder.Waiting("ImagePullBackOff", "no such image")),
		"node-1":                    builder.Pending("worker", 1, builder.On("node-1")),
	} {
		v := policy.Judge(builder.Snapshot(job, builder.Failed("worker", 0, builder.Exit(1)), pod))
		want := "worker-0 on node-worker-0 exited with code 1 (Error); the restart waits for worker-1, which is still starting on " + starting + "."
		if v.Message != want {
			t.Errorf("message %q, want %q", v.Message, want)
		}
	}
}
