package controller

import (
	"context"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trainingjob/operator/pkg/cluster"
	"github.com/trainingjob/operator/pkg/state"
)

// A job of many pods hears of each of them several times. What can wait is gathered, so that it is looked at once.
const (
	// gatherProgress is how long a pod that comes on well can wait.
	gatherProgress = 250 * time.Millisecond
	// gatherEnds is how long a pod that is gone can wait, with others that end at the same time.
	gatherEnds = 10 * time.Millisecond
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podEvents asks for a look at the job of a pod: at once if the pod breaks, a moment later if it only comes on, and
// not at all if nothing has changed that a decision reads.
func podEvents() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { look(e.Object, q, gatherProgress) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { look(e.Object, q, gatherEnds) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			was, is := podOf(e.ObjectOld), podOf(e.ObjectNew)
			switch {
			case reflect.DeepEqual(was, is):
			case is.Phase == corev1.PodFailed || is.Exit != nil || !is.Deleted.IsZero():
				look(e.ObjectNew, q, 0)
			default:
				look(e.ObjectNew, q, gatherProgress)
			}
		},
	}
}

func look(o client.Object, q queue, after time.Duration) {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}}, after)
	}
}

// podOf returns what a decision reads of a pod; of one that no job controls, nothing.
func podOf(o client.Object) state.Pod {
	pod, isPod := o.(*corev1.Pod)
	ref := metav1.GetControllerOfNoCopy(o)
	if !isPod || ref == nil {
		return state.Pod{}
	}
	if p, named := state.PodOf(ref.Name, pod); named {
		return p
	}
	p, _ := state.SpareOf(ref.Name, pod)
	return p
}

// nodeEvents asks for a look at every job that has a pod on a node that comes into trouble, or out of it.
func nodeEvents(c *cluster.Cluster) handler.EventHandler {
	ask := func(ctx context.Context, node client.Object, q queue) {
		jobs, err := c.JobsOnNode(ctx, node.GetName())
		if err != nil {
			log.FromContext(ctx).Error(err, "a node has changed") // the cache has stopped, and the operator with it
		}
		for _, job := range jobs {
			q.Add(reconcile.Request{NamespacedName: job})
		}
	}
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { ask(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if !reflect.DeepEqual(trouble(e.ObjectOld), trouble(e.ObjectNew)) {
				ask(ctx, e.ObjectNew, q)
			}
		},
	}
}

// trouble returns what may make a node's pods count as lost.
func trouble(o client.Object) any {
	node, isNode := o.(*corev1.Node)
	if !isNode {
		return nil
	}
	return []any{node.Spec.Taints, node.Status.Conditions}
}
