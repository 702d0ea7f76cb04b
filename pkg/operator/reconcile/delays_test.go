package reconcile

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// For any change of a pod a reconcile comes at once, a moment later, or never.
const (
	never    = -1
	atOnce   = time.Duration(0)
	gathered = 100 * time.Millisecond
)

var job = builder.Job("j", builder.Workers(2))

// podWith returns worker 1 of the job that controls it, with a new resourceVersion each time.
func podWith(phase corev1.PodPhase, options ...builder.PodOption) *corev1.Pod {
	pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker, Index: 1}, state.Life{}, phase, options...)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	return pod
}

func version(v string) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) { pod.ResourceVersion = v })
}

func TestPodLook(t *testing.T) {
	running, pending := podWith(corev1.PodRunning, version("1")), podWith(corev1.PodPending, version("1"), builder.On(""))
	labelled := podWith(corev1.PodRunning, version("2"))
	labelled.Labels["example.com/seen"] = "yes"
	cases := []struct {
		name    string
		was, is *corev1.Pod
		want    time.Duration
	}{
		{"a new pod", nil, pending, gathered},
		{"a pod that is gone", running, nil, gathered},
		{"the same pod again, as a resync has it", running, running, never},
		{"a write that changes nothing that a decision reads", running, podWith(corev1.PodRunning, version("2")), never},
		{"a label of a user", running, labelled, never},
		{"a condition that every pod has", running, podWith(corev1.PodRunning, version("2"), builder.Flagged("Initialized")), never},
		{"a pod gets its node", pending, podWith(corev1.PodPending, version("2"), builder.On("n")), gathered},
		{"a pod fits nowhere", pending, podWith(corev1.PodPending, version("2"), builder.On(""), builder.Unschedulable("0/3 nodes")), gathered},
		{"a pod runs", pending, running, gathered},
		{"a pod is ready", running, podWith(corev1.PodRunning, version("2"), builder.Ready()), gathered},
		{"a pod succeeds", running, podWith(corev1.PodSucceeded, version("2"), builder.Exit(0)), gathered},
		{"a container fails", running, podWith(corev1.PodRunning, version("2"), builder.Exit(1)), atOnce},
		{"a pod fails", running, podWith(corev1.PodFailed, version("2"), builder.Exit(1)), atOnce},
		{"a pod fails after its container's failure was reported", podWith(corev1.PodRunning, builder.Exit(1)), podWith(corev1.PodFailed, version("2"), builder.Exit(1)), atOnce},
		{"a node turns a pod away", pending, podWith(corev1.PodFailed, version("2"), builder.Rejected("OutOfcpu", "")), atOnce},
		{"a pod is deleted", running, podWith(corev1.PodRunning, version("2"), builder.DeletedAt(time.Minute)), gathered},
		{"a pod ends that is being deleted", podWith(corev1.PodRunning, builder.DeletedAt(time.Minute)), podWith(corev1.PodFailed, version("2"), builder.Exit(137), builder.DeletedAt(time.Minute)), gathered},
		{"a pod is about to be taken away", running, podWith(corev1.PodRunning, version("2"), builder.Disrupted("PreemptionByScheduler", 0)), gathered},
		{"a pod leaves the Service", running, podWith(corev1.PodRunning, version("2"), builder.Fenced()), gathered},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, matters := PodDelay(c.was, c.is)
			if !matters {
				got = never
			}
			if got != c.want {
				t.Errorf("the look comes after %v, want %v", got, c.want)
			}
		})
	}
}

func TestNodeLook(t *testing.T) {
	node := func(change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		change(n)
		return n
	}
	well := node(func(*corev1.Node) {})
	reportUnhealthy := func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "GpuMemWatch", Status: corev1.ConditionTrue, Message: "[79]", LastTransitionTime: builder.Time(0)})
	}
	unhealthy := node(reportUnhealthy)
	cases := []struct {
		name    string
		was, is *corev1.Node
		want    bool
	}{
		{"a new node", nil, well, false},
		{"a node that is gone", well, nil, true},
		{"a heartbeat", well, node(func(n *corev1.Node) { n.ResourceVersion = "2" }), false},
		{"a condition is reported again", unhealthy, node(func(n *corev1.Node) {
			reportUnhealthy(n)
			n.Status.Conditions[1].LastHeartbeatTime, n.Status.Conditions[1].Message = builder.Time(time.Minute), "[79] again"
		}), false},
		{"a node becomes unhealthy", well, unhealthy, true},
		{"a node recovers", unhealthy, well, true},
		{"a node becomes unhealthy once more", unhealthy, node(func(n *corev1.Node) {
			reportUnhealthy(n)
			n.Status.Conditions[1].LastTransitionTime = builder.Time(time.Minute)
		}), true},
		{"a cordon", well, node(func(n *corev1.Node) { n.Spec.Unschedulable = true }), true},
		{"a node is not ready", well, node(func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }), true},
		{"a taint", well, node(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService}} }), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := NodeMatters(c.was, c.is); got != c.want {
				t.Errorf("a look %t, want %t", got, c.want)
			}
		})
	}
}
