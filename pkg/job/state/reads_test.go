package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
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
	seven := state.Report{Step: 7, Attempt: "0"}
	report := state.Progress{Report: seven, Renewed: read, Read: read, IsLate: true}
	earlier := state.Progress{Report: state.Report{Step: 7, Attempt: "1"}, Renewed: read, Read: read, IsLate: true}
	for name, c := range map[string]struct {
		pod  builder.SnapshotOption
		page state.PageSeen
		want state.Progress
	}{
		"it runs":                 {running, state.PageSeen{Pod: uid, Process: builder.Epoch.Add(10 * time.Second), Progress: report}, report},
		"an earlier life answers": {running, state.PageSeen{Pod: uid, Process: builder.Epoch.Add(10 * time.Second), Progress: earlier}, state.Progress{Read: read}},
		"another process runs in its pod": {running, state.PageSeen{Pod: uid, Process: builder.Epoch, Progress: report},
			state.Progress{Report: seven, Renewed: read, Read: read, IsLate: true, Began: builder.Epoch.Add(time.Minute)}},
		"its pod has another life now":    {running, state.PageSeen{Pod: uid, Process: builder.Epoch.Add(10 * time.Second), Life: state.Life{Attempt: 1}, Progress: report}, state.Progress{}},
		"another pod was read":            {running, state.PageSeen{Pod: "another", Process: builder.Epoch.Add(10 * time.Second), Progress: report}, state.Progress{Began: builder.Epoch.Add(time.Minute)}},
		"it has failed":                   {builder.Failed("worker", 0, builder.Exit(1)), state.PageSeen{Pod: uid, Progress: report}, state.Progress{Report: seven, Renewed: read, Read: read}},
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
		page := &state.PageSeen{Pod: uid, Progress: state.Progress{Report: state.Report{Step: 7, ID: report}, Renewed: builder.Epoch.Add(50 * time.Second)}}
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

// The caches may lack a pod that the API server has: what ran, or was seen to go, is confirmed before anything is decided.
func TestMissingPodsAreConfirmed(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0))
	suspended := builder.Job("j", builder.Workers(2), builder.StartedAt(0), builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0))
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		pods []builder.SnapshotOption
		want []string
	}{
		"one that runs":                     {job, []builder.SnapshotOption{builder.Running("worker", 0), builder.Running("worker", 1)}, nil},
		"one that has never been created":   {job, []builder.SnapshotOption{builder.Running("worker", 0)}, nil},
		"one that ran":                      {job, []builder.SnapshotOption{builder.Running("worker", 0), builder.Gone("worker", 1)}, []string{"worker-1"}},
		"one that was seen to go":           {job, []builder.SnapshotOption{builder.Running("worker", 0), builder.SeenGone("worker", 1)}, []string{"worker-1"}},
		"one that went with the suspension": {suspended, []builder.SnapshotOption{builder.SeenEnded("worker", 1, corev1.PodRunning)}, nil},
		"one that went before it had run":   {job, []builder.SnapshotOption{builder.SeenEnded("worker", 1, corev1.PodRunning)}, []string{"worker-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := builder.Snapshot(c.job, c.pods...)
			if s.Reads().Confirm != nil {
				t.Error("what the API server does not have is confirmed again")
			}
			s.Absent = nil
			var got []string
			for _, r := range s.Reads().Confirm {
				got = append(got, r.Slot.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("to confirm (-want +got):\n%s", diff)
			}
		})
	}
}

// A pod that only the API server shows counts as the cached ones do, if it is of a present life.
func TestAPodThatOnlyTheAPIServerShowsCounts(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), builder.Attempt(1))
	found := func(life builder.PodOption) builder.SnapshotOption {
		return func(o *state.Observed) {
			builder.Running("worker", 1, life)(o)
			o.Found, o.Pods = o.Pods[len(o.Pods)-1:], o.Pods[:len(o.Pods)-1]
		}
	}
	for life, want := range map[state.Life]state.State{{Attempt: 1}: state.Running, {}: state.Missing} {
		s := builder.Snapshot(job, builder.Running("worker", 0, builder.Life(1, 0)), found(builder.Life(life.Attempt, 0)))
		if r := s.Replica(state.Slot{Role: v1alpha1.Worker, Index: 1}); r.State != want {
			t.Errorf("of life %v: worker-1 is %v, want %v", life, r.State, want)
		}
	}
}

// A silent node counts as lost for a job that waits for a pod on it, and for no other.
func TestASilentNodeIsLostForAJobThatWaits(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0))
	silent := func(o *state.Observed) {
		o.Seen.Silent = map[string]time.Time{"node-worker-1": builder.Epoch, "elsewhere": builder.Epoch}
	}
	for name, c := range map[string]struct {
		other builder.SnapshotOption
		want  state.State
	}{
		"all replicas run":    {builder.Running("worker", 0), state.Running},
		"a replica is broken": {builder.Failed("worker", 0, builder.Exit(1)), state.Lost},
	} {
		s := builder.Snapshot(job, c.other, builder.Running("worker", 1), silent)
		if r := s.Replica(state.Slot{Role: v1alpha1.Worker, Index: 1}); r.State != c.want {
			t.Errorf("%s: worker-1 is %v, want %v", name, r.State, c.want)
		}
		if leases := s.Reads().AwaitedNodes; (len(leases) == 1) != (c.want == state.Lost) {
			t.Errorf("%s: Leases of %v are read", name, leases)
		}
	}
}
