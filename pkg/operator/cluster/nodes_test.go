package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// inventory is a client that has only nodes.
type inventory struct {
	client.Client
	nodes []corev1.Node
}

func (c inventory) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	for i := range c.nodes {
		if c.nodes[i].Name == key.Name {
			c.nodes[i].DeepCopyInto(o.(*corev1.Node))
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, key.Name)
}

func (c inventory) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.NodeList).Items = c.nodes
	return nil
}

// inventoryNodes returns that many nodes named n0, n1 ..., the first of them not ready since Epoch.
func inventoryNodes(n, notReady int) []corev1.Node {
	var list []corev1.Node
	for i := range n {
		ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
		if i < notReady {
			ready.Status, ready.LastTransitionTime = corev1.ConditionUnknown, builder.Time(0)
		}
		list = append(list, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}}})
	}
	return list
}

func TestNodesInTroubleAreInTheSnapshot(t *testing.T) {
	tainted := inventoryNodes(10, 0)
	tainted[0].Spec.Taints = []corev1.Taint{{Key: "broken", TimeAdded: builder.TimePtr(20 * time.Second)}}
	allTainted := inventoryNodes(10, 10)
	for i := range allTainted {
		allTainted[i].Spec.Taints = tainted[0].Spec.Taints
	}
	// off have not been ready for a month, except the nodes that have just failed
	off := func(n, notReady, now int) []corev1.Node {
		list := inventoryNodes(n, notReady)
		for i := now; i < notReady; i++ {
			list[i].Status.Conditions[0].LastTransitionTime = builder.Time(-30 * 24 * time.Hour)
		}
		return list
	}
	later := inventoryNodes(10, 10) // 50 s into a loss of all: nodes that are lost together do not change in one second
	for i := range later {
		later[i].Status.Conditions[0].LastTransitionTime = builder.Time(time.Duration(i*5) * time.Second)
	}
	cases := []struct {
		name         string
		cached, live []corev1.Node
		blind        bool
		want         []string
	}{
		{"nodes that are well are not", inventoryNodes(10, 0), nil, false, nil},
		{"one that is not ready, since when it counts as lost", inventoryNodes(10, 1), nil, false, []string{"n0 NodeLost 15s"}},
		{"one that is tainted", tainted, nil, false, []string{"n0 NodeTainted 20s"}},
		{"one that is in neither the cache nor the API server is deleted", inventoryNodes(10, 0)[1:], nil, false, []string{"n0 NodeDeleted 1m0s"}},
		{"one that is only missing in the cache is new", inventoryNodes(10, 0)[1:], inventoryNodes(1, 0), false, nil},
		{"5 of 10 that are not ready count as lost", inventoryNodes(10, 5), nil, false, []string{"n0 NodeLost 15s", "n1 NodeLost 15s"}},
		{"of 6 of 10 none does: the control plane has lost touch", inventoryNodes(10, 6), nil, false, []string{"n0 NodeLost 1m15s", "n1 NodeLost 1m15s"}},
		{"nodes that have been off for long do not make a loss doubtful", off(40, 31, 1), nil, false, []string{"n0 NodeLost 15s", "n1 NodeLost -719h59m45s"}},
		{"nor do they hide that the control plane has lost touch", off(40, 36, 6), nil, false, []string{"n0 NodeLost 1m15s", "n1 NodeLost 1m15s"}},
		{"nodes cease to be ready one after the other when it has", later, nil, false, []string{"n0 NodeLost 1m15s", "n1 NodeLost 1m15s"}},
		{"a taint counts, however many nodes have it", allTainted, nil, false, []string{"n0 NodeTainted 20s", "n1 NodeTainted 20s"}},
		{"an operator that may not read nodes has none", inventoryNodes(10, 5), nil, true, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", builder.Workers(2)), builder.Running("worker", 0, builder.On("n1")), builder.Running("worker", 1, builder.On("n0")))
			cluster := New(inventory{nodes: c.cached}, inventory{nodes: c.live}, nil, testclock.NewFakePassiveClock(s.Now),
				Options{Parallel: 1, WatchNodes: !c.blind, LostAfter: 15 * time.Second, Signals: signals})
			o := s.Observed
			if err := cluster.addNodes(context.Background(), &o); err != nil {
				t.Fatal(err)
			}
			s, err := state.New(o)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range s.Nodes {
				got = append(got, fmt.Sprintf("%s %s %v", n.Name, n.Loss.Reason, n.Loss.Time.Sub(builder.Epoch)))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// An annotation names the nodes that a pod excludes, and others can write it: no name costs a request.
func TestExcludedNodesComeFromTheCache(t *testing.T) {
	waiting := builder.Pending("worker", 1, builder.Edit(func(pod *corev1.Pod) {
		pod.Spec.NodeName, pod.Annotations = "", map[string]string{v1alpha1.AnnotationExcludedNodes: "n0,n1,no-such-node" + strings.Repeat(",more", 100)}
	}))
	s := builder.Snapshot(builder.Job("j", builder.Workers(2)), builder.Running("worker", 0, builder.On("n1")), waiting)
	cluster := New(inventory{nodes: inventoryNodes(10, 1)}, nil, nil, testclock.NewFakePassiveClock(s.Now), Options{Parallel: 1, WatchNodes: true, LostAfter: 15 * time.Second})
	o := s.Observed
	o.Nodes = nil
	if err := cluster.addNodes(t.Context(), &o); err != nil || len(o.Nodes) != 1 || o.Nodes[0].Name != "n0" {
		t.Errorf("nodes %v, error %v; want n0, which is not ready", o.Nodes, err)
	}
	for i := range s.Pods {
		if n := len(s.Pods[i].Excludes); n != 0 && n != state.MaxExcluded {
			t.Errorf("%s excludes %d nodes", s.Pods[i].Name, n)
		}
	}
}

// askedNodes is an API server without nodes. It counts the reads.
type askedNodes struct {
	inventory
	reads int
}

func (a *askedNodes) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	a.reads++
	return a.inventory.Get(ctx, key, o, options...)
}

// Each change of one of 60 forged pods cost 60 reads. A later pod on a node of that name is asked for again: the node may have come back.
func TestANodeThatDoesNotExistIsReadOnceIn30Seconds(t *testing.T) {
	live, now := &askedNodes{}, testclock.NewFakePassiveClock(builder.Epoch)
	cluster := New(inventory{}, live, nil, now, Options{Parallel: 1, WatchNodes: true, LostAfter: 15 * time.Second})
	s := builder.Snapshot(builder.Job("j", builder.Workers(2)), builder.Running("worker", 0, builder.On("ghost-0")), builder.Running("worker", 1, builder.On("ghost-1")))
	reads := func(at time.Duration) int {
		o := s.Observed
		o.Now, live.reads = builder.Epoch.Add(at), 0
		if err := cluster.addNodes(t.Context(), &o); err != nil {
			t.Fatal(err)
		}
		return live.reads
	}
	got := []int{reads(0), reads(time.Second), reads(29 * time.Second), reads(30 * time.Second), reads(31 * time.Second)}
	s.Pods[0].UID = "another"
	got = append(got, reads(32*time.Second))
	s = builder.Snapshot(builder.Job("k", builder.Workers(1)), builder.SeenGone("worker", 0, builder.On("ghost-2")))
	got = append(got, reads(40*time.Second), reads(41*time.Second)) // a pod that went long ago
	if diff := cmp.Diff([]int{2, 0, 0, 2, 0, 1, 1, 0}, got); diff != "" {
		t.Errorf("reads of nodes (-want +got):\n%s", diff)
	}
}
