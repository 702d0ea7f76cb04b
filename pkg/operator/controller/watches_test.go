package controller

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/test/sim/builder"
)

// For any change of a pod a reconcile comes at once or a moment later.
const (
	atOnce   = time.Duration(0)
	gathered = 100 * time.Millisecond
	gone     = 100 * time.Millisecond
)

var job = builder.Job("j", builder.Workers(2))

// podWith returns worker 1 of the job that controls it, with a new resourceVersion each time.
func podWith(phase corev1.PodPhase, options ...builder.PodOption) *corev1.Pod {
	pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker, Index: 1}, state.Life{}, phase, options...)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	return pod
}

// requests is a queue that records for which job a reconcile is requested, and after which time.
type requests struct {
	queue
	looks map[string]time.Duration
}

func (a *requests) AddAfter(job ctrl.Request, wait time.Duration) { a.looks[job.String()] = wait }

func TestPodEventsAskForTheJobThatControlsThePod(t *testing.T) {
	running, failed := podWith(corev1.PodRunning), podWith(corev1.PodFailed, builder.Exit(1))
	stray := podWith(corev1.PodRunning)
	stray.OwnerReferences = nil
	events := map[string]struct {
		send func(handler.EventHandler, queue)
		want map[string]time.Duration
	}{
		"created": {func(h handler.EventHandler, q queue) {
			h.Create(context.Background(), event.CreateEvent{Object: running}, q)
		}, map[string]time.Duration{"team-a/j": gathered}},
		"updated": {func(h handler.EventHandler, q queue) {
			h.Update(context.Background(), event.UpdateEvent{ObjectOld: running, ObjectNew: failed}, q)
		}, map[string]time.Duration{"team-a/j": atOnce}},
		"not updated": {func(h handler.EventHandler, q queue) {
			h.Update(context.Background(), event.UpdateEvent{ObjectOld: running, ObjectNew: running}, q)
		}, map[string]time.Duration{}},
		"deleted": {func(h handler.EventHandler, q queue) {
			h.Delete(context.Background(), event.DeleteEvent{Object: failed}, q)
		}, map[string]time.Duration{"team-a/j": gone}},
		"a pod that no job controls": {func(h handler.EventHandler, q queue) {
			h.Create(context.Background(), event.CreateEvent{Object: client.Object(stray)}, q)
		}, map[string]time.Duration{}},
	}
	for name, e := range events {
		t.Run(name, func(t *testing.T) {
			q := &requests{looks: map[string]time.Duration{}}
			e.send(podEvents(cluster.New(nil, nil, nil, clock.RealClock{}, cluster.Options{Parallel: 1})), q)
			if diff := cmp.Diff(e.want, q.looks); diff != "" {
				t.Errorf("looks (-want +got):\n%s", diff)
			}
		})
	}
}

// Each of the 512 Services of a served job's replicas would request a reconcile, which reads all 512 pods.
func TestAServiceOfAReplicaRequestsNoReconcile(t *testing.T) {
	owned := podWith(corev1.PodRunning).OwnerReferences
	for name, c := range map[string]struct {
		service metav1.ObjectMeta
		want    bool
	}{
		"the Service of the job":  {metav1.ObjectMeta{Name: "j", OwnerReferences: owned}, true},
		"a Service of a replica":  {metav1.ObjectMeta{Name: "j-worker-0", OwnerReferences: owned}, false},
		"a Service without owner": {metav1.ObjectMeta{Name: "j"}, false},
		"of a served job, a second owner": {metav1.ObjectMeta{Name: "j", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "kubeflow.org/v1", Kind: "PyTorchJob", Name: "j", Controller: ptr.To(true)}, {APIVersion: owned[0].APIVersion, Kind: owned[0].Kind, Name: "j"},
		}}, true},
	} {
		if got := isServiceOfJob(&corev1.Service{ObjectMeta: c.service}); got != c.want {
			t.Errorf("%s requests a reconcile: %t, want %t", name, got, c.want)
		}
	}
}
