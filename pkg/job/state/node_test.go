package state_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestWhichPodsAreLostAndWhichMayAct(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	slot := state.Slot{Role: v1alpha1.Worker, Index: 1}
	on := builder.On("n")
	created := builder.Edit(func(pod *corev1.Pod) { pod.CreationTimestamp = builder.Time(0) })
	cases := []struct {
		name         string
		pod          builder.SnapshotOption
		node         builder.SnapshotOption
		lost, mayAct bool
	}{
		{"a pod on a node that is well", builder.Running("worker", 1, on), builder.NodeLost("other", 0), false, true},
		{"on a node in trouble", builder.Running("worker", 1, on), builder.NodeLost("n", 50*second), false, true},
		{"on a lost node", builder.Running("worker", 1, on), builder.NodeLost("n", 45*second), true, true},
		{"on a lost node and fenced", builder.Running("worker", 1, on, builder.Fenced()), builder.NodeLost("n", 45*second), true, false},
		{"fenced, and its node is well again", builder.Running("worker", 1, on, builder.Fenced()), builder.NodeLost("other", 0), false, true},
		{"on a silent node", builder.Running("worker", 1, on), builder.NodeSilent("n", 30*second), true, true},
		{"on a silent node and fenced", builder.Running("worker", 1, on, builder.Fenced()), builder.NodeSilent("n", 30*second), true, false},
		{"on a deleted node", builder.Running("worker", 1, on), builder.NodeDeleted("n"), true, true},
		{"on a tainted node", builder.Running("worker", 1, on), builder.NodeTainted("n", "broken", 60*second), true, true},
		{"starting on a lost node", builder.Pending("worker", 1, on), builder.NodeLost("n", 0), true, true},
		{"on a node that fell silent later", builder.Pending("worker", 1, on, created), builder.NodeSilent("n", 5*second), true, true},
		{"on a node that was silent before", builder.Pending("worker", 1, on, created), builder.NodeSilent("n", -5*second), false, true},
		{"without a node", builder.Pending("worker", 1), builder.NodeLost("n", 0), false, true},
		{"that has failed", builder.Failed("worker", 1, on), builder.NodeLost("n", 0), false, false},
		{"that has succeeded", builder.Succeeded("worker", 1, on), builder.NodeDeleted("n"), false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(job, c.pod, c.node)
			if p := s.Replica(slot).Pod; s.IsLost(p) != c.lost || s.MayAct(p) != c.mayAct {
				t.Errorf("lost %t, may act %t, want %t and %t", s.IsLost(p), s.MayAct(p), c.lost, c.mayAct)
			}
		})
	}
}

// A node's trouble is found whatever the order in which nodes were added.
func TestNodeOf(t *testing.T) {
	job := builder.Job("j", builder.Workers(3))
	s := builder.Snapshot(job, builder.NodeLost("c", 0), builder.NodeLost("a", 10*second), builder.NodeLost("b", 20*second),
		builder.Running("worker", 0, builder.On("b")), builder.Running("worker", 1, builder.On("d")))
	if n := s.NodeOf(s.Replica(state.Slot{Role: v1alpha1.Worker}).Pod); !n.Lost || !n.Since.Equal(at(20*second)) {
		t.Errorf("found %+v", n)
	}
	if n := s.NodeOf(s.Replica(state.Slot{Role: v1alpha1.Worker, Index: 1}).Pod); n.Loss.Reason != "" {
		t.Errorf("a node that is well is in trouble: %+v", n)
	}
}

func TestForWhichNodesAJobWaits(t *testing.T) {
	job := builder.Job("j", builder.Workers(3))
	restarted := builder.Job("j", builder.Workers(3), builder.Attempt(1), builder.StartedAt(0))
	suspended := builder.Job("j", builder.Workers(3), builder.Attempt(1), builder.StartedAt(0), builder.Suspended())
	past := builder.Life(0, 0)
	running := func(more ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(more, builder.Running("worker", 0, builder.On("a")), builder.Running("worker", 1, builder.On("b")))
	}
	for _, c := range []struct {
		name string
		job  *v1alpha1.TrainingJob
		seen []builder.SnapshotOption
		want []string
	}{
		{"none while all run", job, running(builder.Running("worker", 2, builder.On("c"))), nil},
		{"all others once a replica is broken", job, running(builder.Failed("worker", 2, builder.On("c"))), []string{"a", "b"}},
		{"all once the report of rank 0 is late", job, running(builder.LateReport()), []string{"a", "b"}},
		{"the nodes of pods that have yet to end", restarted, running(builder.Deleted("worker", 2, past, builder.On("c"))), []string{"c"}},
		{"not of a pod on a lost node that is fenced", restarted,
			[]builder.SnapshotOption{builder.Deleted("worker", 2, past, builder.On("c"), builder.Fenced()), builder.NodeLost("c", 0)}, nil},
		{"of one on a silent node it is asked again", restarted, []builder.SnapshotOption{builder.Deleted("worker", 2, past, builder.On("c"), builder.Fenced())}, []string{"c"}},
		{"none of a suspended job", suspended, running(), nil},
	} {
		if got := builder.Snapshot(c.job, c.seen...).Reads().AwaitedNodes; !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
