package controller

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/reconcile"
)

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// podEvents requests a reconcile of a pod's job, after the time that PodDelay returns.
func podEvents(c *cluster.Cluster) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(c, nil, e.Object, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(c, e.Object, nil, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { enqueue(c, e.ObjectOld, e.ObjectNew, q) },
	}
}

// enqueue requests a reconcile of the job that owns a pod, which has changed from was to is.
func enqueue(c *cluster.Cluster, was, is client.Object, q queue) {
	before, _ := was.(*corev1.Pod)
	after, _ := is.(*corev1.Pod)
	pod := cmp.Or(after, before)
	wait, matters := reconcile.PodDelay(before, after)
	if !matters {
		return
	}
	c.PodChanged(before, after)
	if ref := state.OwnerOf(pod); ref != nil {
		q.AddAfter(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}}, wait)
	}
}

// isServiceOfJob reports whether the object has the name of the TrainingJob that owns it, as the job's Service has. A Kubeflow job has a Service
// for each replica besides, which change nothing.
func isServiceOfJob(o client.Object) bool {
	ref := state.OwnerOf(o)
	return ref != nil && ref.Name == o.GetName()
}

// wakeEvents requests a reconcile of a job that a read, or another job, has woken.
func wakeEvents() handler.TypedEventHandler[client.ObjectKey, ctrl.Request] {
	return handler.TypedFuncs[client.ObjectKey, ctrl.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[client.ObjectKey], q queue) {
			q.Add(ctrl.Request{NamespacedName: e.Object})
		},
	}
}

// nodeEvents requests a reconcile of every job with a pod on a node whose trouble begins or ends.
func nodeEvents(c *cluster.Cluster) handler.EventHandler {
	addJobs := func(ctx context.Context, node client.Object, q queue) {
		jobs, err := c.JobsOnNode(ctx, node.GetName())
		if err != nil {
			log.FromContext(ctx).Error(err, "a node has changed") // the cache has stopped, and the operator with it
		}
		for _, job := range jobs {
			q.Add(ctrl.Request{NamespacedName: job})
		}
	}
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { addJobs(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			was, _ := e.ObjectOld.(*corev1.Node)
			is, _ := e.ObjectNew.(*corev1.Node)
			if reconcile.NodeMatters(was, is) {
				addJobs(ctx, e.ObjectNew, q)
			}
		},
	}
}
