package reconcile

import (
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/pkg/job/state"
)

// gather is how long the event of a pod can wait for others. A job of many pods gets several events for each, and those that can wait share one
// reconcile.
const gather = 100 * time.Millisecond

// PodDelay returns how long the reconcile for a changed pod can wait: not at all if the pod fails and is not being deleted, else a moment.
// matters is false if the change affects no decision. was is nil for a new pod, is for a deleted one.
func PodDelay(was, is *corev1.Pod) (wait time.Duration, matters bool) {
	before, after := podOf(was), podOf(is)
	if reflect.DeepEqual(before, after) {
		return 0, false
	}
	if was != nil && is != nil && after.Deleted.IsZero() && (after.Phase == corev1.PodFailed || after.Exit != nil) {
		return 0, true
	}
	return gather, true
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
