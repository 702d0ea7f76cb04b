package policy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

func timesSecond(n int) time.Duration { return time.Duration(n) * second }

// reported sets the step in the status, and the restarts since.
func reported(step int64, restarts int32) builder.JobOption {
	return builder.Status(func(status *v1alpha1.TrainingJobStatus) {
		status.Progress, status.Memory.RestartsWithoutProgress = &v1alpha1.ProgressStatus{Step: step}, restarts
	})
}

func TestStalled(t *testing.T) {
	notify, again := builder.Progress(100, v1alpha1.StallNotify), builder.Progress(100, v1alpha1.StallRestart)
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(1), builder.StartedAt(0)}, options...)...)
	}
	runs := builder.RunsSince(10 * second)
	seenAt := func(now int, options ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(options, builder.Running("master", 0), builder.Running("worker", 0), builder.Now(timesSecond(now)), builder.Read(timesSecond(now)))
	}
	hangs := judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonHang, Restarts: []string{"master-0 Hang Job charged"}}
	replaced := builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.NextStartTime = builder.TimePtr(50 * second) })
	former := builder.Page(0, 100, v1alpha1.StallRestart)
	check(t, []judgeCase{
		{"a job without a page, as of former versions, does not hang", job(former, runs), seenAt(10_000), judged{}},
		{"a job that runs is looked at when it will have stalled", job(again, runs), seenAt(60), judged{Wake: 110 * second}},
		{"Restart: the whole job restarts then, its leader as the witness", job(again, runs), seenAt(110), hangs},
		{"Notify: nothing restarts", job(notify, runs), seenAt(110), judged{}},
		{"Notify: it is looked at when it will have stalled", job(notify, runs), seenAt(60), judged{Wake: 110 * second}},
		{"a renewal starts the clock anew", job(again, runs), seenAt(110, builder.Reported(7, 40*second)), judged{Wake: 140 * second}},
		{"a renewal of before the job ran does not", job(again, runs), seenAt(110, builder.Reported(7, 5*second)), hangs},
		{"a replica that was replaced starts the clock anew", job(again, runs, replaced), seenAt(110), judged{Wake: 150 * second}},
		{"so does one that was replaced alone", job(again, runs, builder.OwnRestartsInRow(1, 50*second)), seenAt(110), judged{Wake: 150 * second}},
		{"so does a restart for a hang, of whichever replica", job(again, runs, builder.Incidents(v1alpha1.Incident{
			Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Reason: v1alpha1.ReasonProgressStalled}, RestartTime: builder.Time(110 * second)})),
			seenAt(111), judged{Wake: 210 * second}},
		{"a job that does not run does not hang", job(again), seenAt(1000), judged{}},
		{"a job that does not report does not hang", job(runs), seenAt(1000), judged{}},
		{"the default is ten minutes", job(runs, builder.Progress(0, v1alpha1.StallRestart)), seenAt(60), judged{Wake: 610 * second}},
		{"a failure comes first", job(again, runs), seen(builder.Running("master", 0), builder.Failed("worker", 0, builder.Exit(1)), builder.Now(110*second)),
			restart(0, "worker-0 Retryable Job charged")},
	})
}

// A page counts as of its last read that the process answered or failed to answer. What the operator does not know is no hang: after a
// restart of the operator, or while the network forbids the read.
func TestAPageThatWasNotReadIsNoHang(t *testing.T) {
	job := func(action v1alpha1.StallAction) *v1alpha1.TrainingJob {
		return builder.Job("j", pytorch, builder.Leader(v1alpha1.Master), builder.Workers(1), builder.StartedAt(0), builder.RunsSince(10*second), builder.Page(9500, 100, action))
	}
	seenAt := func(now int, options ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(options, builder.Running("master", 0), builder.Running("worker", 0), builder.Now(timesSecond(now)))
	}
	again := job(v1alpha1.StallRestart)
	hangs := judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonHang, Restarts: []string{"master-0 Hang Job charged"}}
	check(t, []judgeCase{
		{"read after the deadline, without a report", again, seenAt(111, builder.Read(110*second)), hangs},
		{"read after the deadline, with an old report", again, seenAt(161, builder.Reported(7, 50*second), builder.Read(150*second)), hangs},
		{"read just before the deadline: a report may have come since", again, seenAt(115, builder.Read(110*second-1)), judged{}},
		{"never read by this process of the operator", again, seenAt(10_000), judged{}},
		{"the network forbids the read", again, seenAt(10_000, builder.Unread("no connection within 2s")), judged{}},
		{"the network has forbidden it since", again, seenAt(10_000, builder.Reported(7, 50*second), builder.Read(60*second), builder.Unread("no connection within 2s")), judged{}},
		{"before the deadline it is looked at then", again, seenAt(60, builder.Reported(7, 50*second), builder.Read(55*second)), judged{Wake: 150 * second}},
		{"Notify: nothing restarts", job(v1alpha1.StallNotify), seenAt(111, builder.Read(110*second)), judged{}},
		{"a pod that was created without a page", again, seen(builder.Running("master", 0, builder.MadeWith()), builder.Running("worker", 0), builder.Read(110*second), builder.Now(111*second)), judged{}},
	})
	for want, options := range map[string][]builder.SnapshotOption{
		"":                        {builder.Unread("no connection within 2s"), builder.Now(109 * second)},
		"no connection within 2s": {builder.Unread("no connection within 2s"), builder.Now(110 * second)},
	} {
		v := policy.Judge(builder.Snapshot(again, append(seenAt(0), options...)...))
		if v.Unread != want || v.NoProgress != "" {
			t.Errorf("unread %q, want %q; stalled %q", v.Unread, want, v.NoProgress)
		}
	}
	v := policy.Judge(builder.Snapshot(again, seenAt(161, builder.Reported(7, 50*second), builder.Read(150*second), builder.Unread("connection refused"))...))
	former := builder.Status(func(status *v1alpha1.TrainingJobStatus) { status.Progress = &v1alpha1.ProgressStatus{Step: 92} })
	former(again) // an earlier attempt has got further
	for step, want := range map[int64]string{7: "the last step was 7", 0: "no step of this attempt was read"} {
		v := policy.Judge(builder.Snapshot(again, seenAt(161, builder.Reported(step, 50*second), builder.Read(150*second))...))
		if want := "master-0 has not reported for 1m40s; " + want; v.NoProgress != want {
			t.Errorf("stalled %q, want %q", v.NoProgress, want)
		}
	}
	if want := "master-0 has not reported for 1m40s; the last step was 7"; v.NoProgress != want || v.Unread != "" {
		t.Errorf("stalled %q, want %q; unread %q", v.NoProgress, want, v.Unread)
	}
}

// The stacks name the rank for which the others wait. A restart waits for them as long as the fact says, and no longer.
func TestAHangIsExplained(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Leader(v1alpha1.Master), builder.Workers(3), builder.StartedAt(0), builder.RunsSince(10*second), builder.Page(9500, 100, v1alpha1.StallRestart))
	seenWith := func(more ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(more, builder.Running("master", 0), builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("worker", 2, builder.On("gpu-7")),
			builder.Read(110*second), builder.Now(111*second))
	}
	at := func(role v1alpha1.Role, index int, stack state.Stack) state.Stack {
		stack.Slot = state.Slot{Role: role, Index: index}
		return stack
	}
	waits, reads := state.Stack{Where: "all_reduce (train.py:41)", Waits: true}, state.Stack{Where: "read (dataset.py:88)"}
	list := []state.Stack{at("Master", 0, waits), at("Worker", 0, waits), at("Worker", 1, waits), at("Worker", 2, reads)}
	gone := slices.Concat(list[:3], []state.Stack{at("Worker", 7, reads)})
	hangs := func(who string) judged {
		return judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonHang, Restarts: []string{who + " Hang Job charged"}}
	}
	check(t, []judgeCase{
		{"the stacks are being read", job, seenWith(builder.Stacks(113 * second)), judged{Wake: 113 * second}},
		{"the reads take too long", job, seenWith(builder.Stacks(111 * second)), hangs("master-0")},
		{"no rank can be read", job, seenWith(), hangs("master-0")},
		{"one rank is elsewhere", job, seenWith(builder.Stacks(0, list...)), hangs("worker-2")},
		{"all ranks are at the same place", job, seenWith(builder.Stacks(0, list[:3]...)), hangs("master-0")},
		{"the job no longer has the rank that is elsewhere", job, seenWith(builder.Stacks(0, gone...)), hangs("master-0")},
	})
	f := policy.Judge(builder.Snapshot(job, seenWith(builder.Stacks(0, list...))...)).Failure
	want := "master-0 has not reported for 1m40s; no step was reported. 3 of 4 ranks wait in all_reduce (train.py:41); worker-2 is in read (dataset.py:88)"
	if f.Message != want || f.Node != "gpu-7" || f.Pod == "" || !f.Time.Time.Equal(builder.Epoch.Add(10*second)) {
		t.Errorf("%q on %s at %v, want %q on gpu-7", f.Message, f.Node, f.Time, want)
	}
}

// Only a process with the port of the page can fail to report. Replacing other replicas does not move its clock.
func TestWhoCanHang(t *testing.T) {
	again := builder.Progress(100, v1alpha1.StallRestart)
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{builder.Workers(2), builder.Evaluators(1), builder.RunsSince(10 * second), again}, options...)...)
	}
	others := seen(builder.Running("worker", 1), builder.Running("evaluator", 0), builder.Now(110*second), builder.Read(110*second))
	with := func(first builder.SnapshotOption) []builder.SnapshotOption { return append(others[:4:4], first) }
	hangs := func(who string) judged {
		return judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonHang, Restarts: []string{who + " Hang Job charged"}}
	}
	replaced := func(role v1alpha1.Role) builder.JobOption {
		return builder.Remember(role, v1alpha1.RoleMemory{NextStarts: fmt.Sprintf("%d:%d", map[v1alpha1.Role]int{v1alpha1.Worker: 1}[role], builder.Epoch.Add(100*second).Unix())})
	}
	ps := seen(builder.Running("ps", 0), builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("evaluator", 0), builder.Now(110*second))
	check(t, []judgeCase{
		{"rank 0, which reports no more", job(), with(builder.Running("worker", 0)), hangs("worker-0")},
		{"not one that was made before spec.progress", job(), with(builder.Running("worker", 0, builder.MadeWith())), judged{}},
		{"not one that has finished, while others work on", job(builder.AllWorkers()), with(builder.Succeeded("worker", 0)), judged{}},
		{"not one that waits for a node", job(), with(builder.Pending("worker", 0)), judged{}},
		{"not one that began a moment ago", job(), append(with(builder.Running("worker", 0)), builder.ProcessBegan(90*second)), judged{Wake: 190 * second}},
		{"one that began an hour ahead, by the clock of its node", job(), with(builder.Running("worker", 0, builder.Began(time.Hour))), hangs("worker-0")},
		{"not one whose process its kubelet starts again", job(), with(builder.Running("worker", 0, between)), judged{}},
		{"one beside which an evaluator was replaced", job(replaced(v1alpha1.Evaluator)), with(builder.Running("worker", 0)), hangs("worker-0")},
		{"one beside which a worker of an asynchronous job was", job(replaced(v1alpha1.Worker)), with(builder.Running("worker", 0)), hangs("worker-0")},
		{"not one of a collective beside which a rank was", job(pytorch, builder.Elastic(1, 3), replaced(v1alpha1.Worker)), with(builder.Running("worker", 0)), judged{Wake: 200 * second}},
		{"not one whose parameters were away", job(builder.PS(1), replaced(v1alpha1.PS)), ps, judged{Wake: 200 * second}},
	})
}

// between is a pod whose kubelet waits before it starts the next process.
var between = builder.Edit(func(pod *corev1.Pod) {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main",
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 42}}}}
})

func TestAHangIsToldWithTheLastStep(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.RunsSince(0), builder.Progress(30, v1alpha1.StallRestart))
	for step, want := range map[int64]string{
		0: "worker-0 hangs (ProgressStalled: worker-0 has not reported for 30s; no step was reported)",
		7: "worker-0 hangs (ProgressStalled: worker-0 has not reported for 30s, and its page did not answer within 2s; the last step was 7)",
	} {
		silent := func(o *state.Observed) { o.Progress.IsSilent = step > 0 }
		v := policy.Judge(builder.Snapshot(job, builder.Running("worker", 0), builder.Reported(step, 20*second), builder.Read(60*second), silent))
		if v.Failure == nil {
			t.Fatalf("step %d: no failure", step)
		}
		if diff := cmp.Diff(want, failure.Describe(v.Failure)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", step, diff)
		}
	}
}

func TestRestartsWithoutProgress(t *testing.T) {
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(2), builder.Evaluators(1), builder.Progress(100, v1alpha1.StallNotify)}, options...)...)
	}
	apart := builder.Framework(v1alpha1.Custom)
	limit := func(n int32) builder.JobOption {
		return builder.Recovery(func(r *v1alpha1.Recovery) { r.NoProgressLimit = ptr.To(n) })
	}
	exit := func(options ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(options, builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)))
	}
	stuck := judged{Ruling: policy.Fail, Reason: v1alpha1.ReasonNoProgress}
	own := restart(0, "worker-1 Retryable Job charged")
	preempted := judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonReplicaPreempted, Restarts: []string{"worker-1 Preempted Job free"}}
	check(t, []judgeCase{
		{"three in a row are the limit", job(reported(7, 3)), exit(builder.Reported(7, 0)), stuck},
		{"a job without a page has no limit", job(reported(7, 3), builder.Page(0, 100, v1alpha1.StallNotify)), exit(), own},
		{"two are not", job(reported(7, 2)), exit(builder.Reported(7, 0)), own},
		{"another limit", job(reported(7, 1), limit(1)), exit(), stuck},
		{"0 turns it off", job(reported(7, 1000), limit(0)), exit(), own},
		{"a newer step ends the row", job(reported(7, 3)), exit(builder.Reported(8, 0)), own},
		{"a step from an older checkpoint does not", job(reported(7, 3)), exit(builder.Reported(6, 0)), stuck},
		{"a loss does not count", job(reported(7, 3)), seen(builder.Running("worker", 0), builder.Deleted("worker", 1)), lost(0, "worker-1 Infrastructure Job free")},
		{"nor does a replica that is replaced alone", job(reported(7, 3), apart), exit(builder.Reported(7, 0)), restart(0, "worker-1 Retryable Replica charged")},
		{"a preemption does not", job(reported(7, 3)),
			seen(builder.Running("worker", 0), builder.Deleted("worker", 1, builder.Disrupted("PreemptionByScheduler", 20*second))), preempted},
		{"an evaluator does not", job(reported(7, 3)), seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Failed("evaluator", 0, builder.Exit(1))),
			restart(0, "evaluator-0 Retryable Replica free")},
		{"a job that never reported a step is never stuck", job(reported(0, 9)), exit(), own},
		{"nor is one without spec.progress", builder.Job("j", pytorch, builder.Workers(2), reported(7, 9)), exit(), own},
		{"a fatal exit is reported as such", job(reported(7, 3)), seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(127))), fatal},
	})
}
