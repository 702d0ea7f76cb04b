package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

var newsNames = map[News]string{Unexpected: "unexpected", MoreTrouble: "more trouble", Expected: "expected", Last: "last"}

// change is a change of a pod in a watch; a nil function is for a pod that does not exist.
type change struct {
	index   int
	was, is func(index int) *state.Pod
}

// seen returns the worker's pod of that life as read.
func seen(life state.Life, phase corev1.PodPhase, options ...builder.PodOption) func(int) *state.Pod {
	return func(index int) *state.Pod {
		pod := builder.Pod(builder.Job("j", builder.Workers(4)), state.Slot{Role: v1alpha1.Worker, Index: index}, life, phase, options...)
		p, _ := state.PodOf("j", pod)
		p.Version = ""
		return &p
	}
}

// Of the awaited pods only the last one causes a reconcile at once. Other changes are distinguished.
func TestWhatIsHeardOfPods(t *testing.T) {
	var life state.Life
	next := state.Life{Attempt: 1}
	absent := func(int) *state.Pod { return nil }
	waits, runs := seen(life, corev1.PodPending, builder.On("")), seen(life, corev1.PodRunning)
	placed, ready, fails := seen(life, corev1.PodPending), seen(life, corev1.PodRunning, builder.Ready()), seen(life, corev1.PodFailed, builder.Exit(1))
	nowhere := seen(life, corev1.PodPending, builder.On(""), builder.Unschedulable("0/3 nodes"))
	ending := seen(life, corev1.PodRunning, builder.DeletedAt(time.Minute))
	ended := seen(life, corev1.PodFailed, builder.Exit(137), builder.DeletedAt(time.Minute))
	starting := []builder.SnapshotOption{builder.Running("worker", 0), builder.Pending("worker", 1), builder.Pending("worker", 2)}
	running := []builder.SnapshotOption{builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("worker", 2)}
	cases := []struct {
		name    string
		job     *v1alpha1.TrainingJob
		found   []builder.SnapshotOption
		changes []change
		want    []string
	}{
		{"pods start", builder.Job("j", builder.Workers(3)), starting,
			[]change{{1, waits, placed}, {1, placed, runs}, {1, runs, ready}, {2, waits, runs}, {2, runs, ready}},
			[]string{"expected", "expected", "expected", "last", "unexpected"}},
		{"one fails while the others start", builder.Job("j", builder.Workers(3)), starting,
			[]change{{1, placed, fails}, {0, runs, fails}, {2, waits, runs}}, []string{"unexpected", "unexpected", "last"}},
		{"one fits nowhere", builder.Job("j", builder.Workers(3)), starting, []change{{2, waits, nowhere}}, []string{"unexpected"}},
		{"pods are made", builder.Job("j", builder.Workers(3)), nil,
			[]change{{0, absent, waits}, {1, absent, waits}, {1, waits, runs}, {0, waits, runs}}, []string{"expected", "expected", "expected", "last"}},
		{"nothing is awaited", builder.Job("j", builder.Workers(3)), running,
			[]change{{0, runs, ready}, {0, ready, fails}, {1, runs, ending}, {2, runs, absent}}, []string{"unexpected", "unexpected", "unexpected", "unexpected"}},
		{"the others fail too", builder.Job("j", builder.Workers(2)), []builder.SnapshotOption{builder.Failed("worker", 0, builder.Exit(1)), builder.Running("worker", 1)},
			[]change{{1, runs, fails}}, []string{"more trouble"}},
		{"pods of the attempt before end and go", builder.Job("j", builder.Workers(2), builder.Attempt(1)), []builder.SnapshotOption{builder.Running("worker", 0, builder.Life(0, 0)), builder.Running("worker", 1, builder.Life(0, 0))},
			[]change{{0, runs, ending}, {0, ending, ended}, {1, runs, ended}, {0, ended, absent}, {1, ended, absent}},
			[]string{"expected", "expected", "last", "expected", "last"}},
		{"they may go on in place", builder.Job("j", builder.Workers(2), builder.Attempt(1), func(j *v1alpha1.TrainingJob) { j.Spec.Recovery.RestartMethod = v1alpha1.RestartInPlace }), []builder.SnapshotOption{builder.Running("worker", 0, builder.Life(0, 0)), builder.Running("worker", 1, builder.Life(0, 0))},
			[]change{{0, runs, seen(next, corev1.PodRunning)}}, []string{"unexpected"}},
		{"the number of workers may change", builder.Job("j", builder.Workers(3), builder.Elastic(1, 3)), starting,
			[]change{{1, waits, runs}}, []string{"unexpected"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := awaitedBy(builder.Snapshot(c.job, c.found...))
			var got []string
			for _, change := range c.changes {
				got = append(got, newsNames[a.observe(fmt.Sprintf("j-worker-%d", change.index), change.was(change.index), change.is(change.index))])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("news (-want +got):\n%s", diff)
			}
		})
	}
}
