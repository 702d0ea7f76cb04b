package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// The pods of a job and the pods of an earlier job of its name are distinguished.
func TestWhichPodsASnapshotHolds(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	former := job.DeepCopy()
	former.UID = "former"
	stray := controlled(job)
	stray.Name = "j-worker-x"
	s := &state.Observed{Job: job}
	addPods(s, []corev1.Pod{*controlled(job), *controlled(former), *stray})
	var got []string
	for _, p := range s.Pods {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"j-worker-0"}, got); diff != "" || len(s.Former) != 1 {
		t.Errorf("%d pods of former jobs, own (-want +got):\n%s", len(s.Former), diff)
	}
}

// Most pods are replicas, and each reconcile of a job of 10,000 parses as many names.
func TestTheNameOfAReplicaIsReadOnce(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	pods := []corev1.Pod{*controlled(job)}
	once := testing.AllocsPerRun(100, func() { state.PodOf(job.Name, &pods[0]) })
	o := &state.Observed{Job: job}
	got := testing.AllocsPerRun(100, func() {
		o.Pods = o.Pods[:0]
		addPods(o, pods)
	})
	if got > once {
		t.Errorf("%v allocations for a pod, want the %v of reading it", got, once)
	}
}

// Only nodes that a pod could lose are read: once each, in the snapshot's order.
func TestWhichNodesAreAskedFor(t *testing.T) {
	s := builder.Snapshot(builder.Job("j", builder.Workers(5)),
		builder.Running("worker", 0, builder.On("c")), builder.Running("worker", 1, builder.On("a")), builder.Pending("worker", 2, builder.On("c")),
		builder.Pending("worker", 3), builder.Failed("worker", 4, builder.On("b")),
		builder.Running("worker", 0, builder.On("past"), builder.Life(0, 9)))
	if diff := cmp.Diff([]string{"a", "c", "past"}, nodesOf(&s.Observed)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

// The time of an exit is when the operator first saw it, whatever the clock of its node shows, until the process starts again.
func TestAnExitIsDatedByItsFirstLook(t *testing.T) {
	var m jobMemo
	failed, runs := builder.Failed("worker", 0, builder.Exit(1), builder.At(time.Hour)), builder.Running("worker", 0)
	for _, look := range []struct {
		now, want time.Duration
		pod       builder.SnapshotOption
	}{{10 * time.Second, 10 * time.Second, failed}, {20 * time.Second, 10 * time.Second, failed}, {30 * time.Second, 0, runs}, {40 * time.Second, 40 * time.Second, failed}} {
		s := builder.Snapshot(builder.Job("j", builder.Workers(1)), look.pod, builder.Now(look.now))
		m.seeEnds(&s.Observed)
		if got := s.Pods[0].EndSeen; look.want == 0 != got.IsZero() || !got.IsZero() && got.Sub(builder.Epoch) != look.want {
			t.Errorf("at %v: first seen at %v, want %v", look.now, got, look.want)
		}
	}
}
