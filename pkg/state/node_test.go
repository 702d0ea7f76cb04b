package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// signals are those that the nodes of the tests show.
var signals = state.Signals{
	{Kind: state.TaintSignal, Name: "broken"}:             state.LoseNode,
	{Kind: state.TaintSignal, Name: "leaving"}:            state.MoveFromNode,
	{Kind: state.ConditionSignal, Name: "MachineGone"}:    state.LoseNode,
	{Kind: state.ConditionSignal, Name: "GpuMemWatch"}:    state.MoveFromNode,
	{Kind: state.ConditionSignal, Name: "KernelDeadlock"}: state.AvoidNode,
	{Kind: state.ConditionSignal, Name: "NVSwitchDown"}:   state.IgnoreNode,
	{Kind: state.CordonSignal}:                            state.AvoidNode,
}

func TestNodeOf(t *testing.T) {
	ready := func(status corev1.ConditionStatus, since time.Duration) corev1.NodeCondition {
		return corev1.NodeCondition{Type: corev1.NodeReady, Status: status, LastTransitionTime: builder.Time(since)}
	}
	pressure := corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}
	taint := func(key string, added *metav1.Time) corev1.Taint { return corev1.Taint{Key: key, TimeAdded: added} }
	notReady := state.Node{Name: "n", Since: at(10 * second), Lost: state.Trouble{Reason: "NodeLost", Message: "not ready for 15s", Time: at(25 * second)}}
	tainted := func(key string, since time.Time) state.Node {
		return state.Node{Name: "n", Since: since, Lost: state.Trouble{Reason: "NodeTainted", Message: "tainted " + key, Time: since}}
	}
	const outOfService = corev1.TaintNodeOutOfService
	cases := []struct {
		name       string
		conditions []corev1.NodeCondition
		taints     []corev1.Taint
		want       state.Node
	}{
		{"a node that is well", []corev1.NodeCondition{pressure, ready(corev1.ConditionTrue, 0)}, []corev1.Taint{taint("gpu", nil)}, state.Node{Name: "n"}},
		{"a node that says nothing", nil, nil, state.Node{Name: "n"}},
		{"a node whose kubelet says it is not ready", []corev1.NodeCondition{ready(corev1.ConditionFalse, 10*second)}, nil, notReady},
		{"a node that is not heard of", []corev1.NodeCondition{pressure, ready(corev1.ConditionUnknown, 10*second)}, nil, notReady},
		{"a node out of service is lost at once", []corev1.NodeCondition{ready(corev1.ConditionTrue, 0)},
			[]corev1.Taint{taint("gpu", nil), taint(outOfService, builder.TimePtr(5*second))}, tainted(outOfService, at(5*second))},
		{"a taint that the operator was told of", nil, []corev1.Taint{taint("broken", builder.TimePtr(5*second))}, tainted("broken", at(5*second))},
		{"a taint of no time", nil, []corev1.Taint{taint("broken", nil)}, tainted("broken", time.Time{})},
		{"a taint beats what is not ready", []corev1.NodeCondition{ready(corev1.ConditionUnknown, 10*second)}, []corev1.Taint{taint(outOfService, builder.TimePtr(5*second))},
			tainted(outOfService, at(5*second))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Taints: c.taints}, Status: corev1.NodeStatus{Conditions: c.conditions}}
			if diff := cmp.Diff(c.want, state.NodeOf(node, 15*second, signals)); diff != "" {
				t.Errorf("node (-want +got):\n%s", diff)
			}
		})
	}
}

// A node is broken by its own status alone: no taint or cordon by which an administrator empties it makes it so, nor any pod.
func TestBrokenBecause(t *testing.T) {
	condition := func(name string, status corev1.ConditionStatus) corev1.NodeStatus {
		return corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeConditionType(name), Status: status, LastTransitionTime: builder.Time(0)}}}
	}
	offers := func(name corev1.ResourceName, capacity, allocatable string) corev1.NodeStatus {
		return corev1.NodeStatus{
			Capacity:    corev1.ResourceList{name: resource.MustParse(capacity)},
			Allocatable: corev1.ResourceList{name: resource.MustParse(allocatable)},
		}
	}
	tainted := func(key string) corev1.NodeSpec { return corev1.NodeSpec{Taints: []corev1.Taint{{Key: key}}} }
	for name, c := range map[string]struct {
		spec   corev1.NodeSpec
		status corev1.NodeStatus
		at     time.Duration
		want   string
	}{
		"it is ready": {status: condition("Ready", corev1.ConditionTrue)},
		"it was not ready for less than it takes":      {status: condition("Ready", corev1.ConditionUnknown), at: 10 * second},
		"it is not ready":                              {status: condition("Ready", corev1.ConditionUnknown), at: 15 * second, want: "NodeLost"},
		"it is out of service":                         {spec: tainted(corev1.TaintNodeOutOfService), want: "NodeTainted"},
		"it is kept for another team":                  {spec: tainted("team")},
		"it is cordoned":                               {spec: corev1.NodeSpec{Unschedulable: true}},
		"a condition that jobs avoid":                  {status: condition("KernelDeadlock", corev1.ConditionTrue), want: "NodeIll"},
		"a condition that jobs leave":                  {status: condition("GpuMemWatch", corev1.ConditionTrue), want: "NodeIll"},
		"a condition that jobs ignore":                 {status: condition("NVSwitchDown", corev1.ConditionTrue)},
		"it offers all its GPUs":                       {status: offers("nvidia.com/gpu", "8", "8")},
		"it offers seven of eight GPUs":                {status: offers("nvidia.com/gpu", "8", "7"), want: "DeviceUnhealthy"},
		"it keeps memory for the system":               {status: offers("memory", "64Gi", "60Gi")},
		"it keeps a resource of Kubernetes for itself": {status: offers("kubernetes.io/batch-cpu", "8", "7")},
	} {
		if got := state.BrokenBecause(&corev1.Node{Spec: c.spec, Status: c.status}, at(c.at), 15*second, signals); got != c.want {
			t.Errorf("%s: broken because of %q, want %q", name, got, c.want)
		}
	}
}

func TestWhichPodsAreLostAndWhichMayAct(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	slot := state.Slot{Role: v1alpha1.Worker, Index: 1}
	on := builder.On("n")
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
		{"on a deleted node", builder.Running("worker", 1, on), builder.NodeDeleted("n"), true, true},
		{"on a tainted node", builder.Running("worker", 1, on), builder.NodeTainted("n", "broken", 60*second), true, true},
		{"starting on a lost node", builder.Pending("worker", 1, on), builder.NodeLost("n", 0), true, true},
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
func TestNodeTrouble(t *testing.T) {
	job := builder.Job("j", builder.Workers(3))
	s := builder.Snapshot(job, builder.NodeLost("c", 0), builder.NodeLost("a", 10*second), builder.NodeLost("b", 20*second),
		builder.Running("worker", 0, builder.On("b")), builder.Running("worker", 1, builder.On("d")))
	if n, found := s.NodeTrouble(s.Replica(state.Slot{Role: v1alpha1.Worker}).Pod); !found || !n.Since.Equal(at(20*second)) {
		t.Errorf("found %t: %+v", found, n)
	}
	if n, found := s.NodeTrouble(s.Replica(state.Slot{Role: v1alpha1.Worker, Index: 1}).Pod); found {
		t.Errorf("a node that is well is in trouble: %+v", n)
	}
}
