package cluster

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// health are the signals that the nodes of these tests show.
var health = nodes.Signals{
	{Kind: nodes.ConditionSignal, Name: "GpuMemWatch"}:    state.BlameNode,
	{Kind: nodes.ConditionSignal, Name: "KernelDeadlock"}: state.AvoidNode,
	{Kind: nodes.ConditionSignal, Name: "MachineGone"}:    state.LoseNode,
	{Kind: nodes.TaintSignal, Name: "leaving"}:            state.BlameNode,
	{Kind: nodes.CordonSignal}:                            state.BlameNode,
}

// report makes a node report that it is unhealthy since d after Epoch.
func report(node *corev1.Node, kind corev1.NodeConditionType, d time.Duration) {
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: builder.Time(d)})
}

// observed is what a snapshot has about the nodes, through addNodes and addUnhealthy.
func observed(t *testing.T, all []corev1.Node, job *v1alpha1.TrainingJob, pods ...builder.SnapshotOption) *state.Snapshot {
	t.Helper()
	s := builder.Snapshot(job, pods...)
	cluster := New(inventory{nodes: all}, inventory{nodes: all}, nil, testclock.NewFakePassiveClock(s.Now), Options{Parallel: 1, WatchNodes: true, LostAfter: 15 * time.Second, Signals: health})
	if err := cluster.addNodes(context.Background(), &s.Observed); err != nil {
		t.Fatal(err)
	}
	if err := cluster.addUnhealthy(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewPodsLearnWhichNodesAreUnhealthy(t *testing.T) {
	all := inventoryNodes(10, 1)
	report(&all[0], "GpuMemWatch", 0) // not ready
	report(&all[2], "GpuMemWatch", time.Second)
	report(&all[3], "KernelDeadlock", 2*time.Second)
	report(&all[4], "MemoryPressure", 0)
	report(&all[5], "KernelDeadlock", 0)
	all[5].Spec.Unschedulable = true // the list does not change with a cordon
	all[6].Spec.Unschedulable = true
	report(&all[9], "MachineGone", 3*time.Second) // no taint keeps pods off
	all[7].Spec.Taints = []corev1.Taint{{Key: "leaving", Effect: corev1.TaintEffectNoSchedule}}
	all[8].Spec.Taints = []corev1.Taint{{Key: "leaving", Effect: corev1.TaintEffectPreferNoSchedule}}
	avoidsNone := builder.Recovery(func(r *v1alpha1.Recovery) { r.AvoidNodesSeconds = new(int32) })
	unhealthy := []string{"n0", "n2", "n3", "n5", "n7", "n8", "n9"}
	cases := []struct {
		name      string
		job       []builder.JobOption
		pods      []builder.SnapshotOption
		unhealthy []string
	}{
		{"in a job with missing pods", []builder.JobOption{builder.Workers(2)}, nil, unhealthy},
		{"in one whose pod has no node", []builder.JobOption{builder.Workers(1)}, []builder.SnapshotOption{builder.Pending("worker", 0)}, unhealthy},
		{"nothing is looked at for one that runs", []builder.JobOption{builder.Workers(1)}, []builder.SnapshotOption{builder.Running("worker", 0, builder.On("n1"))}, nil},
		{"nor for one that rests", []builder.JobOption{builder.Workers(1), builder.Suspended()}, nil, nil},
		{"nor for one that avoids none", []builder.JobOption{builder.Workers(2), avoidsNone}, nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := observed(t, all, builder.Job("j", c.job...), c.pods...)
			if diff := cmp.Diff(c.unhealthy, s.UnhealthyNodes); diff != "" {
				t.Errorf("unhealthy nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// A node that explains failures is in the snapshot, whatever reports the trouble.
func TestAJobOnAnUnhealthyNodeLearnsOfIt(t *testing.T) {
	for name, unhealthy := range map[string]func(*corev1.Node){
		"a condition": func(n *corev1.Node) { report(n, "GpuMemWatch", 0) },
		"a taint": func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "leaving", Effect: corev1.TaintEffectNoSchedule}}
		},
		"a cordon": func(n *corev1.Node) { n.Spec.Unschedulable = true },
	} {
		t.Run(name, func(t *testing.T) {
			all := inventoryNodes(4, 0)
			unhealthy(&all[1])
			s := observed(t, all, builder.Job("j", builder.Workers(2)), builder.Running("worker", 0, builder.On("n0")), builder.Running("worker", 1, builder.On("n1")))
			if len(s.Nodes) != 1 || s.Nodes[0].Name != "n1" || s.Nodes[0].Action != state.BlameNode {
				t.Errorf("nodes %+v", s.Nodes)
			}
		})
	}
	all := inventoryNodes(2, 0)
	report(&all[0], "KernelDeadlock", 0)
	if s := observed(t, all, builder.Job("j", builder.Workers(1)), builder.Running("worker", 0, builder.On("n0"))); len(s.Nodes) > 0 || s.UnhealthyNodes != nil {
		t.Errorf("a job on a node that only new pods avoid learns of %+v, %+v", s.Nodes, s.UnhealthyNodes)
	}
	all[0].Spec.Unschedulable = true // a drain follows, whatever the administrator makes of cordons
	if s := observed(t, all, builder.Job("j", builder.Workers(1)), builder.Running("worker", 0, builder.On("n0"))); len(s.Nodes) != 1 {
		t.Errorf("a job on a cordoned node learns of %+v", s.Nodes)
	}
}

// The node of a charged failure is read although no pod of the job is left there. Nothing else reads it: no list of nodes.
func TestTheUnhealthyNodeOfAFailureIsInTheSnapshot(t *testing.T) {
	all := inventoryNodes(2, 0)
	report(&all[0], "GpuMemWatch", time.Second)
	on := func(node string, charged, explained bool) builder.JobOption {
		return builder.Incidents(v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Node: node}, Charged: charged, Explained: explained})
	}
	for name, c := range map[string]struct {
		failure builder.JobOption
		want    int
	}{
		"charged, on the unhealthy node":  {on("n0", true, false), 1},
		"charged, and explained":          {on("n0", true, true), 0},
		"not charged":                     {on("n0", false, false), 0},
		"on a node that is well":          {on("n1", true, false), 0},
		"on a node that is there no more": {on("gone", true, false), 0},
	} {
		s := observed(t, all, builder.Job("j", builder.Workers(1), c.failure), builder.Running("worker", 0, builder.On("n1")))
		if len(s.Nodes) != c.want || s.UnhealthyNodes != nil {
			t.Errorf("%s: nodes %+v, want %d; unhealthy %v, want nil", name, s.Nodes, c.want, s.UnhealthyNodes)
		}
	}
}

// Ranks fail in the same second, and the incident names another node than the unhealthy one. While the failure's window is open,
// each node of the job is read.
func TestTheUnhealthyNodeOfAnotherRankIsInTheSnapshotForAMinute(t *testing.T) {
	all := inventoryNodes(2, 0)
	report(&all[0], "GpuMemWatch", time.Second)
	for name, c := range map[string]struct {
		scope v1alpha1.RestartScope
		ago   time.Duration
		want  int
	}{
		"the whole job restarted":       {v1alpha1.ScopeJob, time.Minute, 1},
		"longer ago":                    {v1alpha1.ScopeJob, time.Minute + time.Second, 0},
		"a replica restarted by itself": {v1alpha1.ScopeReplica, time.Second, 0},
	} {
		now := builder.Epoch.Add(time.Hour)
		failed := v1alpha1.Incident{
			Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Node: "n1", Time: metav1.NewTime(now.Add(-c.ago))}, Scope: c.scope, Charged: true,
		}
		job := builder.Job("j", builder.Workers(1), builder.Incidents(failed))
		cluster := New(inventory{nodes: all}, inventory{nodes: all}, nil, testclock.NewFakePassiveClock(now), Options{WatchNodes: true, LostAfter: 15 * time.Second, Signals: health})
		cluster.remember(builder.Snapshot(job, builder.Running("worker", 0, builder.On("n0"))))
		s := builder.Snapshot(job, builder.Now(time.Hour), builder.Pending("worker", 0, builder.Life(1, 0)))
		if err := cluster.addNodes(t.Context(), &s.Observed); err != nil || len(s.Nodes) != c.want {
			t.Errorf("%s: nodes %+v, %v, want %d", name, s.Nodes, err, c.want)
		}
	}
}

func TestTheNodesThatHaveBeenUnhealthyForLongestAreAvoided(t *testing.T) {
	all := inventoryNodes(100, 0)
	for i := range 80 {
		report(&all[i], "KernelDeadlock", -time.Duration(i)*time.Minute)
	}
	was := observed(t, all, builder.Job("j", builder.Workers(1))).UnhealthyNodes
	if len(was) != 64 || slices.Contains(was, "n15") || !slices.Contains(was, "n16") || !slices.Contains(was, "n79") {
		t.Errorf("avoided are %v", was)
	}
	report(&all[80], "KernelDeadlock", time.Minute)
	if diff := cmp.Diff(was, observed(t, all, builder.Job("j", builder.Workers(1))).UnhealthyNodes); diff != "" {
		t.Errorf("one more is unhealthy (-was +is):\n%s", diff)
	}
}

func BenchmarkIllNodes(b *testing.B) {
	all := inventoryNodes(5000, 0)
	for _, unhealthy := range []int{0, 20} {
		for i := range unhealthy {
			report(&all[i], "GpuMemWatch", 0)
		}
		s := builder.Snapshot(builder.Job("j", builder.Workers(1)))
		cluster := New(inventory{nodes: all}, nil, nil, testclock.NewFakePassiveClock(s.Now), Options{Parallel: 1, WatchNodes: true, Signals: health})
		b.Run(fmt.Sprint(unhealthy, " of 5000 nodes"), func(b *testing.B) {
			for b.Loop() {
				if err := cluster.addUnhealthy(context.Background(), s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
