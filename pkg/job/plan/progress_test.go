package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// The history of a job that stops reporting, with action Notify: it has one Event, and a renewal ends the stall.
func TestProgressingIsTold(t *testing.T) {
	running := seen(builder.Running("worker", 0))
	job := underWay(t, takenOn(t, builder.Workers(1), builder.Progress(60, v1alpha1.StallNotify)), running...)
	expect := func(what string, now time.Duration, progressing string, events int, step int64, renewed time.Duration) {
		t.Helper()
		s := builder.Snapshot(job, append(running, builder.Reported(step, renewed), builder.Read(now), builder.Now(now))...)
		p := plan.Make(s)
		got := ""
		if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionProgressing); c != nil {
			got = fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
		stalls := slices.DeleteFunc(p.Events, func(e plan.Event) bool { return e.Reason != v1alpha1.ReasonProgressStalled })
		if diff := cmp.Diff(progressing, got); diff != "" || len(stalls) != events || p.Status.Phase != v1alpha1.PhaseRunning || p.Status.Restarts > 0 {
			t.Errorf("%s: %d Events, want %d, phase %s, condition (-want +got):\n%s", what, len(stalls), events, p.Status.Phase, diff)
		}
		job = after(t, s)
	}
	const made = "True ProgressMade: The training reports in time."
	const stalled = "False ProgressStalled: No progress: worker-0 has not reported for 1m0s; the last step was 7."
	expect("a renewal from before the job ran does not count", 20*second, "", 0, 5, 5*second)
	expect("the first renewal", 30*second, made, 0, 7, 25*second)
	expect("the last second", 84*second, made, 0, 7, 25*second)
	expect("the job stalls", 85*second, stalled, 1, 7, 25*second)
	expect("it has no second Event", 200*second, stalled, 0, 7, 25*second)
	expect("a renewal ends it, though its step is an older one", 210*second, made, 0, 3, 205*second)
	if got := job.Status.Progress; got == nil || got.Step != 7 || got.Checkpoint != "step-3" {
		t.Errorf("progress %+v, want the highest step and the latest checkpoint", got)
	}
	expect("it stalls once more, at the step of its last report", 300*second, strings.Replace(stalled, "step was 7", "step was 3", 1), 1, 3, 205*second)
	job = after(t, builder.Snapshot(job, builder.Failed("worker", 0, builder.ExitSaying(127, "Error", ""))))
	if meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionProgressing) != nil {
		t.Error("a failed job still has the condition Progressing")
	}
}

// A renewal without news is written only every five minutes. A written status is up to date.
func TestARenewalAloneIsSeldomWritten(t *testing.T) {
	running := seen(builder.Running("worker", 0))
	job := underWay(t, takenOn(t, builder.Workers(1), builder.Progress(600, v1alpha1.StallNotify)), running...)
	job = after(t, builder.Snapshot(job, append(running, builder.Reported(7, 20*second), builder.Now(20*second))...))
	cases := []struct {
		name    string
		step    int64
		renewed time.Duration
		more    []builder.SnapshotOption
		want    time.Duration
	}{
		{"the same step", 7, 60 * second, nil, 20 * second},
		{"the same step until the last second", 7, 319 * second, nil, 20 * second},
		{"the same step five minutes later", 7, 320 * second, nil, 320 * second},
		{"a newer step", 8, 60 * second, nil, 60 * second},
		{"an older step from an older checkpoint", 6, 60 * second, nil, 60 * second},
		{"the same step while something else changes", 7, 60 * second, seen(builder.Failed("worker", 0, builder.Exit(1))), 60 * second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pods := running
			if c.more != nil {
				pods = c.more
			}
			p := plan.Make(builder.Snapshot(job, append(slices.Clone(pods), builder.Reported(c.step, c.renewed), builder.Now(c.renewed))...))
			if got := p.Status.Progress.RenewTime.Sub(builder.Epoch); got != c.want {
				t.Errorf("renewTime %v, want %v", got, c.want)
			}
			if isWritten := !cmp.Equal(job.Status, p.Status); isWritten != (c.want == c.renewed) {
				t.Errorf("the status is written: %t\n%s", isWritten, cmp.Diff(job.Status, p.Status))
			}
		})
	}
}

// A report that may soon be a hang is recorded, so that a process of the operator that starts then does not take it for a new one.
func TestAnOldReportIsRecorded(t *testing.T) {
	running := seen(builder.Running("worker", 0))
	job := underWay(t, takenOn(t, builder.Workers(1), builder.Progress(100, v1alpha1.StallNotify)), running...)
	look := func(now time.Duration, report string, renewed time.Duration) *state.Snapshot {
		with := func(o *state.Observed) { o.Progress.ID = report }
		return builder.Snapshot(job, append(slices.Clone(running), builder.Reported(7, renewed), builder.Now(now), with)...)
	}
	job = after(t, look(20*second, "first", 20*second))
	for _, c := range []struct {
		now, renewed time.Duration
		want         string
	}{{79 * second, 30 * second, "first"}, {80 * second, 30 * second, "second"}, {200 * second, 30 * second, "second"}} {
		job = after(t, look(c.now, "second", c.renewed))
		if got := job.Status.Memory.Report; got != c.want || got == "second" && job.Status.Progress.RenewTime.Sub(builder.Epoch) != c.renewed {
			t.Errorf("at %v %q is recorded, with %v, want %q", c.now, got, job.Status.Progress.RenewTime, c.want)
		}
	}
}

// The step alone is written at most once a minute. A checkpoint, or any other change, includes the step.
func TestAStepAloneIsWrittenOnceAMinute(t *testing.T) {
	running := seen(builder.Running("worker", 0))
	job := underWay(t, takenOn(t, builder.Workers(1), builder.Progress(600, v1alpha1.StallNotify)), running...)
	first := builder.Snapshot(job, append(running, builder.Reported(7, 20*second), builder.Now(20*second))...)
	if got := plan.Make(first).Status.Progress; got == nil || got.Step != 7 {
		t.Fatalf("the first report is written as %+v", got)
	}
	job = after(t, first)
	at := func(now time.Duration, checkpoint string, more ...builder.SnapshotOption) plan.Plan {
		reported := func(o *state.Observed) { o.Progress.Checkpoint, o.Recorded = checkpoint, builder.Epoch.Add(20*second) }
		return plan.Make(builder.Snapshot(job, append(more, builder.Reported(8, now), builder.Now(now), reported)...))
	}
	if p := at(79*second, "step-7", running...); p.Status.Progress.Step != 7 || wakeOf(p) != 80*second {
		t.Errorf("after 59 s the step is %d, again at %v; want 7, and a look at 80 s", p.Status.Progress.Step, wakeOf(p))
	}
	for what, p := range map[string]plan.Plan{
		"a minute later": at(80*second, "step-7", running...),
		"a checkpoint":   at(24*second, "step-8", running...),
		"a failure":      at(21*second, "step-7", builder.Failed("worker", 0, builder.Exit(1))),
	} {
		if p.Status.Progress.Step != 8 {
			t.Errorf("%s: the step is %d, want 8", what, p.Status.Progress.Step)
		}
	}
}

// With action Restart a stall is one incident with its Event, and the clock starts again with the next attempt.
func TestAStallRestartsTheJobOnce(t *testing.T) {
	running := seen(builder.Running("worker", 0), builder.Reported(7, 20*second))
	job := underWay(t, takenOn(t, builder.Workers(1), builder.Progress(60, v1alpha1.StallRestart)), running...)
	s := builder.Snapshot(job, append(running, builder.Now(80*second), builder.Read(80*second))...)
	p := plan.Make(s)
	if got := p.Status; got.Attempt != 1 || got.Incidents[0].Cause != v1alpha1.CauseHang || got.Budgets[0].Name != v1alpha1.BudgetHangRestarts || got.Memory.RestartsWithoutProgress != 1 {
		t.Errorf("attempt %d, incidents %+v, budgets %+v, %d restarts without progress", got.Attempt, got.Incidents, got.Budgets, got.Memory.RestartsWithoutProgress)
	}
	want := []plan.Event{{Type: warning, Reason: "Restarting", Action: "Job", Message: "worker-0 hangs (ProgressStalled: worker-0 has not reported" +
		" for 1m0s; the last step was 7): the whole job restarts as attempt 1, restart 1 of 5."}}
	if diff := cmp.Diff(want, p.Events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
	job = after(t, s)
	again := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Reported(7, 20*second), builder.Now(200*second)))
	if again.Status.Attempt != 1 || again.Status.Phase != v1alpha1.PhaseRunning {
		t.Errorf("the next attempt is %s, attempt %d", again.Status.Phase, again.Status.Attempt)
	}
}

func TestRestartsWithoutProgressAreCounted(t *testing.T) {
	base := []builder.JobOption{pytorch, builder.Workers(2), builder.Evaluators(1), builder.StartedAt(0), builder.Progress(600, v1alpha1.StallNotify),
		builder.Status(func(status *v1alpha1.TrainingJobStatus) {
			status.Progress, status.Memory.RestartsWithoutProgress = &v1alpha1.ProgressStatus{Step: 7}, 2
		})}
	exit := builder.Failed("worker", 1, builder.Exit(1))
	cases := []struct {
		name string
		pods []builder.SnapshotOption
		want int32
	}{
		{"a restart is one more", seen(exit, builder.Reported(7, 20*second)), 3},
		{"one with a newer step is the first of a new row", seen(exit, builder.Reported(8, 20*second)), 1},
		{"a newer step ends the row", seen(builder.Reported(8, 20*second)), 0},
		{"no report leaves it", nil, 2},
		{"a preemption leaves it", seen(builder.Deleted("worker", 1, builder.Disrupted("PreemptionByScheduler", 20*second)), builder.Reported(7, 20*second)), 2},
		{"so does every loss", seen(builder.Deleted("worker", 1), builder.Reported(7, 20*second)), 2},
		{"an evaluator leaves it", seen(builder.Failed("evaluator", 0, builder.Exit(1)), builder.Reported(7, 20*second)), 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := plan.Make(builder.Snapshot(builder.Job("j", base...), append(c.pods, builder.Running("worker", 0))...)).Status
			if diff := cmp.Diff(c.want, got.Memory.RestartsWithoutProgress); diff != "" {
				t.Errorf("restarts without progress (-want +got):\n%s", diff)
			}
		})
	}
}

// The time of a checkpoint is when it was first reported. Later renewals of the Lease do not change it.
func TestSinceWhenTheCheckpointIsThere(t *testing.T) {
	job := training(builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Progress = &v1alpha1.ProgressStatus{Step: 7, Checkpoint: "step-7", CheckpointTime: builder.TimePtr(14 * second), RenewTime: builder.TimePtr(14 * second)}
	}))
	for checkpoint, want := range map[string]*metav1.Time{"step-7": builder.TimePtr(14 * second), "step-9": builder.TimePtr(40 * second), "": nil} {
		got := plan.Make(builder.Snapshot(job, both("", builder.Now(41*second), builder.Reported(9, 40*second), func(o *state.Observed) { o.Progress.Checkpoint = checkpoint })...)).Status.Progress
		if got.Checkpoint != checkpoint || !got.CheckpointTime.Equal(want) {
			t.Errorf("%q: %q since %v, want %v", checkpoint, got.Checkpoint, got.CheckpointTime, want)
		}
	}
}

// A later process of the operator knows the time of the last report to the second. If each write moved it, a hang would never come to its deadline.
func TestAWriteDoesNotMakeTheLastReportNewer(t *testing.T) {
	running := seen(builder.Running("worker", 0))
	job := underWay(t, takenOn(t, builder.Workers(1), builder.Progress(600, v1alpha1.StallNotify)), running...)
	job = after(t, builder.Snapshot(job, append(running, builder.Reported(7, 20*second), builder.Now(20*second))...))
	rounded := func(o *state.Observed) { o.Progress.Renewed = builder.Epoch.Add(21 * second) }
	p := plan.Make(builder.Snapshot(job, builder.Failed("worker", 0, builder.Exit(1)), builder.Reported(7, 20*second), rounded, builder.Now(60*second)))
	if got := p.Status.Progress.RenewTime.Sub(builder.Epoch); got != 20*second || cmp.Equal(job.Status, p.Status) {
		t.Errorf("renewTime %v of a status that is written, want 20s", got)
	}
}
