package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// judged is a verdict as the tables write it: no sentences, each restart in one line.
type judged struct {
	Ruling   policy.Kind
	Reason   string
	Restarts []string
	// Wait is how long the next life must wait.
	Wait time.Duration
	// Wake is when to judge again, after Epoch; zero for never.
	Wake time.Duration
}

func judge(s *state.Snapshot) judged {
	v := policy.Judge(s)
	wake := v.Wake
	got := judged{Ruling: v.Kind, Reason: v.Reason}
	for i := range v.Restarts {
		got.Restarts = append(got.Restarts, line(&v.Restarts[i]))
	}
	if v.Kind == policy.Restart {
		got.Wait = v.Restarts[0].NextStart.Sub(s.Now)
	}
	if !wake.IsZero() {
		got.Wake = wake.Sub(builder.Epoch)
	}
	return got
}

// line is "worker-1 Retryable Job charged".
func line(o *failure.Restart) string {
	charge := "free"
	switch {
	case o.Joins != nil:
		charge = "joins"
	case o.Charged:
		charge = "charged"
	}
	slot := state.Slot{Role: o.Role, Index: int(o.Index)}
	return fmt.Sprintf("%s %s %s %s", slot, o.Cause, o.Scope, charge)
}

type judgeCase struct {
	name string
	job  *v1alpha1.TrainingJob
	seen []builder.SnapshotOption
	want judged
}

func check(t *testing.T, cases []judgeCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			if diff := cmp.Diff(c.want, judge(builder.Snapshot(c.job, c.seen...))); diff != "" {
				t.Errorf("wrong verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// seen shortens the cases.
func seen(options ...builder.SnapshotOption) []builder.SnapshotOption { return options }

var (
	pytorch    = builder.Framework(v1alpha1.PyTorch)
	tensorflow = builder.Framework(v1alpha1.TensorFlow)
	restart    = func(wait time.Duration, orders ...string) judged {
		return judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonReplicaFailed, Restarts: orders, Wait: wait}
	}
	lost = func(wait time.Duration, orders ...string) judged {
		return judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonReplicaLost, Restarts: orders, Wait: wait}
	}
	fatal  = judged{Ruling: policy.Fail, Reason: v1alpha1.ReasonFatalExit}
	spent  = judged{Ruling: policy.Fail, Reason: v1alpha1.ReasonMaxRestartsExceeded}
	leader = judged{Ruling: policy.Succeed, Reason: v1alpha1.ReasonLeaderSucceeded}
	all    = judged{Ruling: policy.Succeed, Reason: v1alpha1.ReasonAllWorkersSucceeded}
	first  = judged{Ruling: policy.Succeed, Reason: v1alpha1.ReasonAnyWorkerSucceeded}
)

const (
	second = time.Second
	hour   = time.Hour
)

func TestFinished(t *testing.T) {
	finished := builder.Condition(v1alpha1.ConditionFinished, true, v1alpha1.ReasonLeaderSucceeded, 0)
	completed := builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.CompletionTime = builder.TimePtr(10 * second) })
	final := judged{Ruling: policy.Final}
	check(t, []judgeCase{
		{"a verdict is final, whatever fails afterwards",
			builder.Job("j", builder.Workers(2), finished), seen(builder.Failed("worker", 1, builder.Exit(1))), final},
		{"a result is final, whatever spec.suspend is",
			builder.Job("j", builder.Workers(2), finished, builder.Suspended()), nil, final},
		{"a verdict is final, although the deadline passes",
			builder.Job("j", builder.Workers(1), finished, builder.StartedAt(0), builder.Deadline(5)), nil, final},
		{"a finished job with a time to live is looked at again when it is over",
			builder.Job("j", builder.Workers(1), finished, completed, builder.TTL(600)), nil,
			judged{Ruling: policy.Final, Wake: 610 * second}},
		{"a time to live of 0 is over at once",
			builder.Job("j", builder.Workers(1), finished, completed, builder.TTL(0)), nil,
			final},
		{"a finished job with a pod on a node in trouble is looked at again when that counts as lost",
			builder.Job("j", builder.Workers(1), finished, completed, builder.TTL(600)), seen(builder.Deleted("worker", 0, builder.On("n")), builder.NodeLost("n", 50*second)),
			judged{Ruling: policy.Final, Wake: 65 * second}},
		{"a job that has not finished is judged", builder.Job("j", builder.Workers(1)), nil, judged{}},
	})
}

func TestSuspended(t *testing.T) {
	resting := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	suspend := judged{Ruling: policy.Suspend, Reason: v1alpha1.ReasonSuspended}
	ending := judged{Ruling: policy.Suspend, Reason: v1alpha1.ReasonFormerPodsEnding}
	check(t, []judgeCase{
		{"the user suspends a job that runs",
			builder.Job("j", builder.Workers(1), builder.Suspended()), seen(builder.Running("worker", 0)), suspend},
		{"a pod that the suspension deletes is no failure",
			builder.Job("j", builder.Workers(1), builder.Suspended(), resting),
			seen(builder.Failed("worker", 0, builder.Exit(143), builder.DeletedAt(20*second))), suspend},
		{"a pod on a node in trouble is looked at again when it counts as lost",
			builder.Job("j", builder.Workers(1), builder.Suspended(), resting), seen(builder.Deleted("worker", 0, builder.On("n")), builder.NodeLost("n", 50*second)),
			judged{Ruling: policy.Suspend, Reason: v1alpha1.ReasonSuspended, Wake: 65 * second}},
		{"a job suspended when its leader has succeeded rests",
			builder.Job("j", builder.Workers(1), builder.Suspended()), seen(builder.Succeeded("worker", 0)), suspend},
		{"a suspended job has no deadline",
			builder.Job("j", builder.Workers(1), builder.Suspended(), builder.StartedAt(0), builder.Deadline(5)), nil, suspend},
		{"it resumes only when the old pods are gone",
			builder.Job("j", builder.Workers(2), resting), seen(builder.Deleted("worker", 1)), ending},
		{"a failed pod of before cannot act any more and does not hold the job up",
			builder.Job("j", builder.Workers(2), resting), seen(builder.Failed("worker", 1, builder.Exit(1))), judged{}},
		{"a pod that succeeded before stays and does not hold the job up",
			builder.Job("j", builder.Workers(2), resting), seen(builder.Succeeded("worker", 1)), judged{}},
		{"it resumes when the pods are gone", builder.Job("j", builder.Workers(2), resting), nil, judged{}},
	})
}

func TestExpired(t *testing.T) {
	expired := judged{Ruling: policy.Fail, Reason: v1alpha1.ReasonDeadlineExceeded}
	rested := builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.SuspendedSeconds = 30 })
	check(t, []judgeCase{
		{"before the deadline the job is looked at again at the deadline",
			builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Deadline(90)), nil, judged{Wake: 90 * second}},
		{"at the deadline the job has failed",
			builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Deadline(60)), nil, expired},
		{"a failure does not put the deadline off",
			builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Deadline(60)),
			seen(builder.Failed("worker", 0, builder.Exit(1))), expired},
		{"success at the deadline is success",
			builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Deadline(60)), seen(builder.Succeeded("worker", 0)), leader},
		{"time in suspension does not count",
			builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Deadline(60), rested), nil, judged{Wake: 90 * second}},
		{"time in the suspension that is just ending does not count",
			builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Deadline(60), rested,
				builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 40*second)), nil, judged{Wake: 110 * second}},
		{"a job that has not started has no deadline",
			builder.Job("j", builder.Workers(1), builder.Deadline(1)), nil, judged{}},
	})
}

func TestLate(t *testing.T) {
	created := func(at time.Duration) builder.PodOption {
		return builder.Edit(func(pod *corev1.Pod) { pod.CreationTimestamp = builder.Time(at) })
	}
	checkedAhead := builder.Edit(func(pod *corev1.Pod) {
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "preflight-a", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			StartedAt: builder.Time(time.Hour), FinishedAt: builder.Time(time.Hour + 5*second)}}}}
	})
	late := func(orders ...string) judged {
		return judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonStartupDeadline, Restarts: orders}
	}
	base := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{
			builder.Workers(2), builder.StartedAt(0), builder.StartupDeadline(60)}, options...)...)
	}
	failedCheck := func(role v1alpha1.Role, attempt int32) builder.JobOption {
		return builder.Incidents(v1alpha1.Incident{Scope: v1alpha1.ScopeReplica, RestartTime: builder.Time(40 * second),
			Failure: v1alpha1.Failure{Role: role, Index: 1, Attempt: attempt, Cause: v1alpha1.CauseInfrastructure, Reason: v1alpha1.ReasonPreflightFailed}})
	}
	next := builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.NextStartTime = builder.TimePtr(30 * second) })
	check(t, []judgeCase{
		{"a job whose replicas do not run in time restarts as a whole, charged",
			base(), seen(builder.Running("worker", 0), builder.Pending("worker", 1)), late("worker-1 Startup Job charged")},
		{"the lowest rank that is missing is named",
			base(), seen(builder.Running("worker", 1)), late("worker-0 Startup Job charged")},
		{"before the deadline the job is looked at again at the deadline",
			base(), seen(builder.Running("worker", 0), builder.Now(20*second)), judged{Wake: 60 * second}},
		{"the deadline of a later attempt counts from the end of its back-off",
			base(next), seen(builder.Running("worker", 0)), judged{Wake: 90 * second}},
		{"a replica that is replaced alone does not move the deadline",
			base(builder.OwnRestartsInRow(1, 30*second)), seen(builder.Running("worker", 0)), late("worker-1 Startup Job charged")},
		{"nor do pods that replace the first ones",
			base(builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.Memory.FirstPodTime = builder.TimePtr(0) })),
			seen(builder.Pending("worker", 0, created(40*second)), builder.Pending("worker", 1, created(45*second))), late("worker-0 Startup Job charged")},
		{"nor does the check of an evaluator, whom no job waits for",
			base(builder.Evaluators(1)), seen(builder.Running("worker", 0), builder.Pending("evaluator", 0, builder.Checking())), late("worker-1 Startup Job charged")},
		{"a check by a clock that is an hour ahead moves it by its own time",
			base(), seen(builder.Running("worker", 0, checkedAhead), builder.Pending("worker", 1)), judged{Wake: 65 * second}},
		{"a replica whose check failed begins anew", base(failedCheck(v1alpha1.Worker, 0)), seen(builder.Running("worker", 0)), judged{Wake: 100 * second}},
		{"after its back-off", base(failedCheck(v1alpha1.Worker, 0), builder.OwnRestartsInRow(1, 55*second)), seen(builder.Running("worker", 0)), judged{Wake: 115 * second}},
		{"and its next check has its own time", base(failedCheck(v1alpha1.Worker, 0)),
			seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.Checked(15*second))), judged{Wake: 115 * second}},
		{"not for a check of an evaluator", base(builder.Evaluators(2), failedCheck(v1alpha1.Evaluator, 0)), seen(builder.Running("worker", 0)), late("worker-1 Startup Job charged")},
		{"nor for one of an earlier attempt", base(builder.Attempt(1), failedCheck(v1alpha1.Worker, 0)), seen(builder.Running("worker", 0, created(0))), late("worker-1 Startup Job charged")},
		{"the deadline after a suspension counts from its end",
			base(builder.Condition(v1alpha1.ConditionSuspended, false, v1alpha1.ReasonResumed, 50*second)),
			seen(builder.Running("worker", 0)), judged{Wake: 110 * second}},
		{"a job that runs is not late when it loses a replica",
			base(builder.Condition(v1alpha1.ConditionRunning, true, v1alpha1.ReasonAllReplicasRunning, 10*second)),
			seen(builder.Running("worker", 0)), judged{}},
		{"an elastic job is on time with minReplicas workers",
			base(builder.Elastic(1, 4)), seen(builder.Running("worker", 0)), judged{}},
		{"being late beyond the budget fails the job",
			base(builder.MaxRestarts(0)), seen(builder.Pending("worker", 0)), spent},
		{"while old pods are ending no pod can be late",
			base(builder.Attempt(1)), seen(builder.Deleted("worker", 1, builder.Life(0, 0))), judged{}},
		{"it counts from the first pod of the attempt",
			base(builder.Attempt(1)), seen(builder.Running("worker", 0, created(40*second)), builder.Pending("worker", 1, created(45*second))), judged{Wake: 100 * second}},
		{"while a quota admits no pod, none is late",
			base(), seen(builder.Refused(v1alpha1.ReasonQuotaExceeded, "no", 70*second)), judged{}},
		{"once it admits one, the others are",
			base(), seen(builder.Running("worker", 0), builder.Refused(v1alpha1.ReasonQuotaExceeded, "no", 70*second)), late("worker-1 Startup Job charged")},
		{"a replica that fails before the deadline has failed, not been late",
			base(pytorch), seen(builder.Failed("worker", 0, builder.Exit(1))), restart(0, "worker-0 Retryable Job charged")},
	})
}
