package controller

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// A job of many pods gets several events for each. The events that can wait share one reconcile.
const (
	// gatherAwaited is how long an awaited pod's event can wait for the events of the other awaited pods. Nothing can be done
	// before the last one, and the status shows the progress no more often.
	gatherAwaited = 3 * time.Second
	// gatherTrouble is how long the event of a failing pod can wait for others, if the job is already broken.
	gatherTrouble = 100 * time.Millisecond
	// gatherProgress is how long the event of a starting pod can wait.
	gatherProgress = 250 * time.Millisecond
	// gatherEnds is how long the event of a deleted pod can wait for others that end at the same time.
	gatherEnds = 10 * time.Millisecond
	// gatherRenewals is how long a renewal of the progress Lease can wait for the next. A program may renew it a thousand times a
	// second, and each reconcile of a job lists its pods.
	gatherRenewals = time.Second
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podEvents requests a reconcile of a pod's job, after the time that PodDelay returns.
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

// enqueue requests a reconcile of the job that owns a pod, which has changed from was to is.
func enqueue(c *cluster.Cluster, was, is client.Object, q queue) {
	before, _ := was.(*corev1.Pod)
	after, _ := is.(*corev1.Pod)
	pod := cmp.Or(after, before)
	wait, matters := PodDelay(c, before, after)
	if ref := state.OwnerOf(pod); matters && ref != nil {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}}, wait)
	}
}

// PodDelay returns how long the reconcile for a changed pod can wait. It cannot wait if the pod fails. It waits a moment if the
// pod only starts or is gone, and longer if the job awaits others like it. matters is false if the change affects no decision.
// was is nil for a new pod, is for a deleted one.
func PodDelay(c *cluster.Cluster, was, is *corev1.Pod) (wait time.Duration, matters bool) {
	before, after := podOf(was), podOf(is)
	if reflect.DeepEqual(before, after) {
		return 0, false
	}
	news := c.PodChanged(cmp.Or(is, was), before, after)
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

// podOf returns the part of a pod that wakes its job; nothing for a pod that no job owns, nil for no pod. It leaves out the
// resourceVersion, which changes with every write, and the checkpoint request, which only the operator writes.
func podOf(pod *corev1.Pod) *state.Pod {
	if pod == nil {
		return nil
	}
	ref := state.OwnerOf(pod)
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

// leaseEvents requests a reconcile of a progress Lease's job, after the time that LeaseDelay returns.
func leaseEvents() handler.EventHandler {
	add := func(was, is, o client.Object, q queue) {
		if ref := state.OwnerOf(o); ref != nil {
			job := types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}
			q.AddAfter(reconcile.Request{NamespacedName: job}, LeaseDelay(was, is))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { add(nil, e.Object, e.Object, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(e.Object, nil, e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { add(e.ObjectOld, e.ObjectNew, e.ObjectNew, q) },
	}
}

// readEvents requests a reconcile of a job whose progress page was read.
func readEvents() handler.TypedEventHandler[client.ObjectKey, reconcile.Request] {
	return handler.TypedFuncs[client.ObjectKey, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[client.ObjectKey], q queue) {
			q.Add(reconcile.Request{NamespacedName: e.Object})
		},
	}
}

// LeaseDelay returns how long the reconcile for a changed progress Lease can wait: not at all if the Lease is new or gone, or
// answers a checkpoint request.
func LeaseDelay(was, is client.Object) time.Duration {
	if was == nil || is == nil || was.GetAnnotations()[v1alpha1.AnnotationSavedFor] != is.GetAnnotations()[v1alpha1.AnnotationSavedFor] {
		return 0
	}
	return gatherRenewals
}

// nodeEvents requests a reconcile of every job with a pod on a node whose trouble begins or ends.
func nodeEvents(c *cluster.Cluster) handler.EventHandler {
	addJobs := func(ctx context.Context, node client.Object, q queue) {
		jobs, err := c.JobsOnNode(ctx, node.GetName())
		if err != nil {
			log.FromContext(ctx).Error(err, "a node has changed") // the cache has stopped, and the operator with it
		}
		for _, job := range jobs {
			q.Add(reconcile.Request{NamespacedName: job})
		}
	}
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { addJobs(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			was, _ := e.ObjectOld.(*corev1.Node)
			is, _ := e.ObjectNew.(*corev1.Node)
			if NodeMatters(was, is) {
				addJobs(ctx, e.ObjectNew, q)
			}
		},
	}
}

// NodeMatters reports whether jobs with pods on a changed node must be reconciled: their pods may now count as lost or must leave
// the node, or no longer. is is nil for a deleted node. Heartbeats and changes of a condition's message are ignored.
func NodeMatters(was, is *corev1.Node) bool {
	switch {
	case was == nil: // no pod is on it yet
		return false
	case is == nil:
		return true
	default:
		isSameCondition := func(a, b corev1.NodeCondition) bool {
			return a.Type == b.Type && a.Status == b.Status && a.LastTransitionTime.Equal(&b.LastTransitionTime)
		}
		return was.Spec.Unschedulable != is.Spec.Unschedulable || !reflect.DeepEqual(was.Spec.Taints, is.Spec.Taints) ||
			!slices.EqualFunc(was.Status.Conditions, is.Status.Conditions, isSameCondition)
	}
}
