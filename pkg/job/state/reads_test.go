package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// shows says what the page of worker-0 has shown.
func shows(page *state.PageSeen) builder.SnapshotOption {
	return func(o *state.Observed) {
		o.Seen.Page = *page
		o.Seen.Page.Job = o.Job.UID
	}
}

// The page counts of rank 0 as it runs, and of the present life.
func TestAReportCountsOfThePresentLifeAlone(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.Page(9500, 60, v1alpha1.StallRestart), builder.StartedAt(0))
	running := builder.Running("worker", 0, builder.Began(10*time.Second))
	uid := builder.Snapshot(job, running).Pods[0].UID
	read := builder.Epoch.Add(50 * time.Second)
	report := state.Progress{Step: 7, Renewed: read, Read: read, IsLate: true}
	for name, c := range map[string]struct {
		pod  builder.SnapshotOption
		page state.PageSeen
		want state.Progress
	}{
		"it runs":                 {running, state.PageSeen{Pod: uid, Process: builder.Epoch.Add(10 * time.Second), Attempt: "0", Progress: report}, report},
		"an earlier life answers": {running, state.PageSeen{Pod: uid, Process: builder.Epoch.Add(10 * time.Second), Attempt: "1", Progress: report}, state.Progress{Read: read}},
		"another process runs in its pod": {running, state.PageSeen{Pod: uid, Process: builder.Epoch, Progress: report},
			state.Progress{Step: 7, Renewed: read, Read: read, IsLate: true, Began: builder.Epoch.Add(time.Minute)}},
		"its pod has another life now":    {running, state.PageSeen{Pod: uid, Process: builder.Epoch.Add(10 * time.Second), Life: state.Life{Attempt: 1}, Progress: report}, state.Progress{}},
		"another pod was read":            {running, state.PageSeen{Pod: "another", Process: builder.Epoch.Add(10 * time.Second), Progress: report}, state.Progress{Began: builder.Epoch.Add(time.Minute)}},
		"it has failed":                   {builder.Failed("worker", 0, builder.Exit(1)), state.PageSeen{Pod: uid, Progress: report}, state.Progress{Step: 7, Renewed: read, Read: read}},
		"its next life has failed unread": {builder.Failed("worker", 0, builder.Exit(1)), state.PageSeen{Pod: uid, Life: state.Life{Attempt: 1}, Progress: report}, state.Progress{}},
		"it starts":                       {builder.Pending("worker", 0), state.PageSeen{Pod: uid, Progress: report}, state.Progress{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, builder.Snapshot(job, c.pod, shows(&c.page)).Progress); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
		})
	}
	elsewhere := builder.Snapshot(job, running, func(o *state.Observed) {
		o.Seen.Page = state.PageSeen{Job: types.UID("former"), Pod: uid, Progress: report}
	})
	if elsewhere.Progress.Step > 0 {
		t.Error("the page of a former job of the name counts")
	}
}

// A process of the operator that starts takes an old report that is recorded for an old one, and any other for a new one.
func TestARestartOfTheOperatorMakesNoOldReportNew(t *testing.T) {
	const old, other = "2026-01-05T11:00:00Z 7", "2026-01-05T11:00:10Z 7"
	job := builder.Job("j", builder.Workers(1), builder.Page(9500, 60, v1alpha1.StallRestart), builder.Status(func(status *v1alpha1.TrainingJobStatus) {
		status.Progress, status.Memory.Report = &v1alpha1.ProgressStatus{Step: 7, RenewTime: builder.TimePtr(10 * time.Second)}, old
	}))
	uid := builder.Snapshot(job, builder.Running("worker", 0)).Pods[0].UID
	for report, want := range map[string]time.Duration{old: 11 * time.Second, other: 50 * time.Second} {
		page := &state.PageSeen{Pod: uid, Progress: state.Progress{Step: 7, Report: report, Renewed: builder.Epoch.Add(50 * time.Second)}}
		if s := builder.Snapshot(job, builder.Running("worker", 0), shows(page)); s.Progress.Renewed.Sub(builder.Epoch) != want {
			t.Errorf("%s: first seen at %v, want %v", report, s.Progress.Renewed.Sub(builder.Epoch), want)
		}
	}
}

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
