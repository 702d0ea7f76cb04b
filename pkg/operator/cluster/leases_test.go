package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/operator/reads"
	"github.com/trainingjob/operator/test/sim/builder"
)

// leaseList is an API server that lists Leases.
type leaseList struct {
	client.Reader
	items []coordinationv1.Lease
	err   error
}

func (c leaseList) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if asked.Namespace != "kube-node-lease" || asked.Raw != nil {
		return errors.New("a list of other Leases, or from an old cache")
	}
	list.(*coordinationv1.LeaseList).Items = c.items
	return c.err
}

func leaseOf(node string, renewed *metav1.MicroTime) coordinationv1.Lease {
	return coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: coordinationv1.LeaseSpec{RenewTime: renewed}}
}

func notReadySince(name string, d time.Duration) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: builder.Time(d)},
	}}}
}

func TestLeasesOfNodes(t *testing.T) {
	renewed := metav1.NewMicroTime(builder.Epoch)
	named := func(name string) corev1.Node { return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	cached := inventory{nodes: []corev1.Node{named("well"), notReadySince("dying", 2*time.Hour-time.Minute), notReadySince("off", 0), named("new")}}
	live := leaseList{items: []coordinationv1.Lease{
		leaseOf("well", &renewed), leaseOf("dying", &renewed), leaseOf("off", &renewed), leaseOf("gone", &renewed), leaseOf("new", nil),
	}}
	clock := testclock.NewFakePassiveClock(builder.Epoch.Add(2 * time.Hour))
	got, err := LeasesOf(cached, live, clock, logr.Discard())(t.Context())
	want := map[string]nodes.Lease{"well": {Renewed: renewed.Time}, "dying": {Renewed: renewed.Time}, "off": {Renewed: renewed.Time, IsOff: true}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v; Leases (-want +got):\n%s", err, diff)
	}
}

func TestAMissingRightOnLeasesIsLoggedOnce(t *testing.T) {
	lines := 0
	log := funcr.New(func(_, _ string) { lines++ }, funcr.Options{})
	read := func(err error) reads.ReadLeases {
		return LeasesOf(inventory{}, leaseList{err: err}, testclock.NewFakePassiveClock(builder.Epoch), log)
	}
	busy := read(apierrors.NewTooManyRequests("busy", 1))
	if _, err := busy(t.Context()); err == nil || lines > 0 {
		t.Errorf("a busy API server: %v, %d lines", err, lines)
	}
	forbidden := read(apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", errors.New("no")))
	for range 3 {
		if _, err := forbidden(t.Context()); err == nil {
			t.Error("no error without the right")
		}
	}
	if lines != 1 {
		t.Errorf("%d lines, want 1", lines)
	}
}
