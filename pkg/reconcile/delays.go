package reconcile

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	p, _ := state.PodOf(ref.Name, pod)
	p.Version, p.Asked = "", ""
	return &p
}

// LeaseDelay returns how long the reconcile for a changed progress Lease can wait: not at all if the Lease is new or gone, or
// answers a checkpoint request.
func LeaseDelay(was, is client.Object) time.Duration {
	if was == nil || is == nil || was.GetAnnotations()[v1alpha1.AnnotationSavedFor] != is.GetAnnotations()[v1alpha1.AnnotationSavedFor] {
		return 0
	}
	return gatherRenewals
}

// NodeMatters reports whether jobs with pods on a changed node must be reconciled: their pods may now count as lost, or no
// longer, or the node explains a failure. is is nil for a deleted node. Heartbeats and changes of a condition's message are ignored.
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
