package nodes_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// signals are those that the nodes of the tests show.
var signals = nodes.Signals{
	{Kind: nodes.TaintSignal, Name: "broken"}:             state.LoseNode,
	{Kind: nodes.TaintSignal, Name: "leaving"}:            state.BlameNode,
	{Kind: nodes.ConditionSignal, Name: "MachineGone"}:    state.LoseNode,
	{Kind: nodes.ConditionSignal, Name: "GpuMemWatch"}:    state.BlameNode,
	{Kind: nodes.ConditionSignal, Name: "KernelDeadlock"}: state.AvoidNode,
	{Kind: nodes.ConditionSignal, Name: "NVSwitchDown"}:   state.IgnoreNode,
	{Kind: nodes.CordonSignal}:                            state.AvoidNode,
}

func TestNodeOf(t *testing.T) {
	ready := func(status corev1.ConditionStatus, since time.Duration) corev1.NodeCondition {
		return corev1.NodeCondition{Type: corev1.NodeReady, Status: status, LastTransitionTime: builder.Time(since)}
	}
	pressure := corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}
	taint := func(key string, added *metav1.Time) corev1.Taint { return corev1.Taint{Key: key, TimeAdded: added} }
	notReady := state.Node{Name: "n", Since: at(10 * second), Loss: state.Trouble{Reason: "NodeLost", Message: "not ready for 15s", Time: at(25 * second)}}
	tainted := func(key string, since time.Time) state.Node {
		return state.Node{Name: "n", Since: since, Loss: state.Trouble{Reason: "NodeTainted", Message: "tainted " + key, Time: since}}
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
			if diff := cmp.Diff(c.want, nodes.Of(node, 15*second, signals)); diff != "" {
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
		"a condition that jobs avoid":                  {status: condition("KernelDeadlock", corev1.ConditionTrue), want: "NodeUnhealthy"},
		"a condition that jobs leave":                  {status: condition("GpuMemWatch", corev1.ConditionTrue), want: "NodeUnhealthy"},
		"a condition that jobs ignore":                 {status: condition("NVSwitchDown", corev1.ConditionTrue)},
		"it offers all its GPUs":                       {status: offers("nvidia.com/gpu", "8", "8")},
		"it offers seven of eight GPUs":                {status: offers("nvidia.com/gpu", "8", "7"), want: "DeviceUnhealthy"},
		"it keeps memory for the system":               {status: offers("memory", "64Gi", "60Gi")},
		"it keeps a resource of Kubernetes for itself": {status: offers("kubernetes.io/batch-cpu", "8", "7")},
	} {
		if got := nodes.BrokenBecause(&corev1.Node{Spec: c.spec, Status: c.status}, at(c.at), 15*second, signals); got != c.want {
			t.Errorf("%s: broken because of %q, want %q", name, got, c.want)
		}
	}
}
