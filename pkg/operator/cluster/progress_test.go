package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/progress"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A report is new if its time or its step differs from the last read, and it counts from that read. The clock of its node may show any time.
func TestAReportCountsFromWhenItWasFirstSeen(t *testing.T) {
	var shown Shown
	for _, read := range []struct {
		what string
		now  time.Duration
		page string
		err  error
		want time.Duration
	}{
		{"an hour behind", 0, `{"time":"2026-01-05T11:00:00Z","step":1}`, nil, 0},
		{"the same", 10 * time.Second, `{"time":"2026-01-05T11:00:00Z","step":1}`, nil, 0},
		{"a newer one", 20 * time.Second, `{"time":"2026-01-05T11:00:15Z","step":1}`, nil, 20 * time.Second},
		{"an hour ahead", 30 * time.Second, `{"time":"2026-01-05T13:00:25Z","step":1}`, nil, 30 * time.Second},
		{"the same, after a read that failed", 50 * time.Second, `{"time":"2026-01-05T13:00:25Z","step":1}`, nil, 30 * time.Second},
		{"set back", 60 * time.Second, `{"time":"2026-01-05T12:00:55Z","step":1}`, nil, 60 * time.Second},
		{"a clock that stands, and a newer step", 70 * time.Second, `{"time":"2026-01-05T12:00:55Z","step":2}`, nil, 70 * time.Second},
		{"another process", 80 * time.Second, `{"time":"2026-01-05T12:00:55Z","step":2,"attempt":1}`, nil, 80 * time.Second},
		{"silence", 90 * time.Second, "", progress.ErrSilent, 80 * time.Second},
	} {
		shown = shown.After(builder.Epoch.Add(read.now), []byte(read.page), read.err)
		if got := shown.Renewed.Sub(builder.Epoch); got != read.want {
			t.Errorf("%s: first seen at %v, want %v", read.what, got, read.want)
		}
	}
}

// A process of the operator that starts takes an old report that is recorded for an old one, and any other for a new one.
func TestARestartOfTheOperatorMakesNoOldReportNew(t *testing.T) {
	const old, other = "2026-01-05T11:00:00Z 7", "2026-01-05T11:00:10Z 7"
	job := builder.Job("j", builder.Workers(1), builder.Page(9500, 60, v1alpha1.StallRestart), builder.Status(func(status *v1alpha1.TrainingJobStatus) {
		status.Progress, status.Memory.Report = &v1alpha1.ProgressStatus{Step: 7, RenewTime: builder.TimePtr(10 * time.Second)}, old
	}))
	for report, want := range map[string]time.Duration{old: 11 * time.Second, other: 50 * time.Second} {
		pages := &fixed{shown: Shown{Said: progress.Said{Progress: state.Progress{Step: 7, Report: report, Renewed: builder.Epoch.Add(50 * time.Second)}}}}
		cl := New(nil, nil, nil, testclock.NewFakePassiveClock(builder.Epoch), Options{Parallel: 1, Pages: pages})
		s := builder.Snapshot(job, builder.Running("worker", 0, atAddress))
		if cl.addPage(s); s.Progress.Renewed.Sub(builder.Epoch) != want {
			t.Errorf("%s: first seen at %v, want %v", report, s.Progress.Renewed.Sub(builder.Epoch), want)
		}
	}
}

// The last report of rank 0 counts when rank 0 has ended, until its next life begins, also if no pass has looked at it before.
func TestTheLastReportOutlivesItsProcess(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.Page(9500, 60, v1alpha1.StallRestart), builder.StartedAt(0))
	pages := &fixed{}
	cl := New(nil, nil, nil, testclock.NewFakePassiveClock(builder.Epoch), Options{Parallel: 1, Pages: pages})
	for _, look := range []struct {
		what  string
		shown int64
		pod   builder.SnapshotOption
		want  int64
	}{
		{"it runs", 7, builder.Running("worker", 0, atAddress), 7},
		{"it has failed, after a read", 8, builder.Failed("worker", 0, builder.Exit(1)), 8},
		{"it has failed", 0, builder.Failed("worker", 0, builder.Exit(1)), 8},
		{"its next life has no pod", 0, builder.Failed("worker", 0, builder.Exit(1)), 0},
		{"its next life has failed unread", 0, builder.Failed("worker", 0, builder.Exit(1), builder.Life(1, 0)), 0},
	} {
		if pages.shown = (Shown{}); look.shown > 0 {
			pages.shown.Said = progress.Said{Progress: state.Progress{Step: look.shown, Renewed: builder.Epoch}}
		}
		if look.want == 0 {
			job = builder.Job("j", builder.Workers(1), builder.Page(9500, 60, v1alpha1.StallRestart), builder.StartedAt(0), builder.Attempt(1))
		}
		s := builder.Snapshot(job, look.pod)
		if cl.addPage(s); s.Progress.Step != look.want {
			t.Errorf("%s: step %d, want %d", look.what, s.Progress.Step, look.want)
		}
	}
}

// A process counts from when the operator sees it in place of another. One that the operator finds when it starts may have run for long.
func TestAProcessCountsFromWhenItWasFirstSeen(t *testing.T) {
	clock := testclock.NewFakePassiveClock(builder.Epoch)
	cl := New(nil, nil, nil, clock, Options{Parallel: 1, Pages: &fixed{}})
	job := builder.Job("j", builder.Workers(1), builder.Page(9500, 60, v1alpha1.StallRestart))
	for _, look := range []struct {
		now, began time.Duration
		want       time.Time
	}{
		{0, time.Hour, time.Time{}},
		{10 * time.Second, time.Hour, time.Time{}},
		{20 * time.Second, -time.Hour, builder.Epoch.Add(20 * time.Second)},
		{30 * time.Second, -time.Hour, builder.Epoch.Add(20 * time.Second)},
	} {
		clock.SetTime(builder.Epoch.Add(look.now))
		s := builder.Snapshot(job, builder.Running("worker", 0, atAddress, builder.Began(look.began)))
		if cl.addPage(s); !s.Progress.Began.Equal(look.want) {
			t.Errorf("at %v the process began at %v, want %v", look.now, s.Progress.Began, look.want)
		}
	}
}

// atAddress gives the pod an address of its own.
var atAddress = builder.Edit(func(pod *corev1.Pod) { pod.Status.PodIP, pod.Status.HostIP = "10.1.2.3", "192.168.0.1" })

// Rank 0 of an attempt or a life that is over may still report from a node that is cut off only from its peers.
func TestOnlyThePresentLifeReportsProgress(t *testing.T) {
	for _, c := range []struct {
		attempt, life string
		want          bool
	}{
		{"", "", true}, {"2", "", true}, {"1", "", false}, {"3", "", false}, {"two", "", false}, {"02", "", false},
		{"2", "2000004", true}, {"2", "2000003", false}, {"", "2000003", false}, {"2", "2000005", true}, {"2", "a number", false},
	} {
		job := builder.Job("j", builder.Workers(2), builder.Progress(60, v1alpha1.StallRestart))
		job.Status.Attempt = 2
		leader, worker := state.Slot{Role: v1alpha1.Worker}, state.Slot{Role: v1alpha1.Worker, Index: 1}
		o := &state.Observed{Job: job, Pods: []state.Pod{{Slot: leader, Number: 2_000_000}, {Slot: leader, Number: 2_000_004}, {Slot: worker, Number: 2_000_009}}}
		if got := o.IsCurrent(c.attempt, c.life); got != c.want {
			t.Errorf("attempt %q, life %q: it counts %v, want %v", c.attempt, c.life, got, c.want)
		}
	}
}
