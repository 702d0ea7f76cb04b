package controller

import (
	"cmp"
	"context"
	"reflect"
	"slices"
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

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cluster"
	"github.com/trainingjob/operator/pkg/state"
)

// A job of many pods gets several events of each of them. Those that can wait are gathered into one reconcile.
const (
	// gatherAwaited is how long the event of a pod can wait for the events of the other pods that the job awaits. The operator can do
	// nothing before the last one, and it does not write the progress of the start more often.
	gatherAwaited = 3 * time.Second
	// gatherTrouble is how long the event of a pod that fails can wait for others, if the job is broken as it is.
	gatherTrouble = 100 * time.Millisecond
	// gatherProgress is how long the event of a pod that starts can wait.
	gatherProgress = 250 * time.Millisecond
	// gatherEnds is how long the event of a pod that is gone can wait for others that end at the same time.
	gatherEnds = 10 * time.Millisecond
	// gatherRenewals is how long a renewal of the progress Lease can wait for the next: a program may renew it a thousand times a
	// second, and each look at a job lists its pods.
	gatherRenewals = time.Second
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podEvents requests a reconcile of the job of a pod, after the time that PodDelay returns.
func podEvents(c *cluster.Cluster) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(c, nil, e.Object, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			if pod, isPod := e.Object.(*corev1.Pod); isPod {
				c.SawGone(pod)
			}
			enqueue(c, e.Object, nil, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			enqueue(c, e.ObjectOld, e.ObjectNew, q)
		},
	}
}

// enqueue requests a reconcile of the job that controls a pod, which has changed from was to is.
func enqueue(c *cluster.Cluster, was, is client.Object, q queue) {
	before, _ := was.(*corev1.Pod)
	after, _ := is.(*corev1.Pod)
	pod := cmp.Or(after, before)
	wait, asked := PodDelay(c, before, after)
	if ref := metav1.GetControllerOfNoCopy(pod); asked && ref != nil {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}}, wait)
	}
}

// PodDelay returns how long the reconcile of the job of a changed pod can wait: not at all if the pod fails, a moment if it only starts or
// is gone, and longer if the job awaits others like it. asked is false if nothing has changed that a decision reads. was is nil for a new
// pod, is for one that is gone.
func PodDelay(c *cluster.Cluster, was, is *corev1.Pod) (wait time.Duration, asked bool) {
	before, after := podOf(was), podOf(is)
	if reflect.DeepEqual(before, after) {
		return 0, false
	}
	news := c.Hear(cmp.Or(is, was), before, after)
	switch {
	case news == cluster.Expected:
		return gatherAwaited, true
	case is == nil, news == cluster.Last:
		return gatherEnds, true
	case was == nil:
		return gatherProgress, true
	case after.Phase != corev1.PodFailed && after.Exit == nil && after.Deleted.IsZero():
		return gatherProgress, true
	case news == cluster.MoreTrouble:
		return gatherTrouble, true
	default:
		return 0, true
	}
}

// podOf returns the part of a pod that decisions wait for; an empty pod if no job controls it; nil for none. The resourceVersion changes
// with every write and only guards a deletion. Requests to the ranks come only from the operator.
func podOf(pod *corev1.Pod) *state.Pod {
	if pod == nil {
		return nil
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return &state.Pod{}
	}
	p, named := state.PodOf(ref.Name, pod)
	if !named {
		p, _ = state.SpareOf(ref.Name, pod)
	}
	p.Version, p.Asked = "", ""
	return &p
}

// leaseEvents requests a reconcile of the job of a progress Lease, after the time that LeaseDelay returns.
func leaseEvents() handler.EventHandler {
	ask := func(was, is, o client.Object, q queue) {
		if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.Kind == v1alpha1.Kind {
			job := types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}
			q.AddAfter(reconcile.Request{NamespacedName: job}, LeaseDelay(was, is))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { ask(nil, e.Object, e.Object, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { ask(e.Object, nil, e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { ask(e.ObjectOld, e.ObjectNew, e.ObjectNew, q) },
	}
}

// LeaseDelay returns how long the reconcile of the job of a changed progress Lease can wait: not at all if it is new or gone, or if it
// answers a request to stop.
func LeaseDelay(was, is client.Object) time.Duration {
	if was == nil || is == nil || was.GetAnnotations()[v1alpha1.AnnotationSavedFor] != is.GetAnnotations()[v1alpha1.AnnotationSavedFor] {
		return 0
	}
	return gatherRenewals
}

// nodeEvents requests a reconcile of every job with a pod on a node whose problems begin or end.
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
			was, _ := e.ObjectOld.(*corev1.Node)
			is, _ := e.ObjectNew.(*corev1.Node)
			if NodeMatters(was, is) {
				ask(ctx, e.ObjectNew, q)
			}
		},
	}
}

// NodeMatters reports whether jobs with pods on a changed node need a reconcile: its pods may count as lost now, or should leave it, or
// no longer. is is nil for a deleted node. Heartbeats and changes of a condition's message are ignored: the cache holds only conditions
// that matter.
func NodeMatters(was, is *corev1.Node) bool {
	switch {
	case was == nil: // no pod is on it yet
		return false
	case is == nil:
		return true
	default:
		return was.Spec.Unschedulable != is.Spec.Unschedulable || !reflect.DeepEqual(was.Spec.Taints, is.Spec.Taints) ||
			!slices.EqualFunc(was.Status.Conditions, is.Status.Conditions, isSameCondition)
	}
}

func isSameCondition(a, b corev1.NodeCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.LastTransitionTime.Equal(&b.LastTransitionTime)
}
