package manager

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/reconcile"
)

// Queue holds when a job is to be reconciled: now, at a time, or both.
type Queue struct {
	Job     client.ObjectKey
	Clock   clock.PassiveClock
	Cluster *cluster.Cluster
	Cache   *server.Cache

	now bool
	at  time.Time
}

// Now requests a reconcile at once.
func (q *Queue) Now() { q.now = true }

// After requests a reconcile after that time, unless an earlier one is requested.
func (q *Queue) After(wait time.Duration) { q.at = state.Earliest(q.at, q.Clock.Now().Add(wait)) }

// Clear forgets all requests.
func (q *Queue) Clear() { q.now, q.at = false, time.Time{} }

// IsDue reports whether a reconcile is due.
func (q *Queue) IsDue() bool { return q.now || !q.at.IsZero() && !q.Clock.Now().Before(q.at) }

// At returns the time of the requested reconcile; zero if none is requested for a time.
func (q *Queue) At() time.Time { return q.at }

// Changed requests a reconcile for a change in the cache, as the watches of the controller do: for every change of the job and of its
// children, and for pods and nodes when the controller's functions return so. was is nil for a new object, is for a deleted one.
func (q *Queue) Changed(kind server.Kind, was, is client.Object) {
	o := is
	if o == nil {
		o = was
	}
	switch kind {
	case server.Jobs:
		q.now = q.now || client.ObjectKeyFromObject(o) == q.Job
	case server.Services, server.PodGroups:
		q.now = q.now || q.owns(o)
	case server.Pods:
		q.podChanged(was, is)
	case server.Nodes:
		before, _ := was.(*corev1.Node)
		after, _ := is.(*corev1.Node)
		q.now = q.now || reconcile.NodeMatters(before, after) && q.isOn(o.GetName())
	}
}

func (q *Queue) podChanged(was, is client.Object) {
	before, _ := was.(*corev1.Pod)
	after, _ := is.(*corev1.Pod)
	wait, matters := reconcile.PodDelay(before, after)
	if !matters {
		return
	}
	q.Cluster.PodChanged(before, after)
	if q.owns(cmp.Or(after, before)) {
		q.After(wait)
	}
}

// owns reports whether a job of that name owns the object.
func (q *Queue) owns(o client.Object) bool {
	ref := state.OwnerOf(o)
	return ref != nil && ref.Name == q.Job.Name && o.GetNamespace() == q.Job.Namespace
}

// isOn reports whether the job has a pod on the node, as the cache shows it.
func (q *Queue) isOn(node string) bool {
	return slices.ContainsFunc(q.Cache.List(server.Pods), func(o client.Object) bool {
		pod, isPod := o.(*corev1.Pod)
		return isPod && pod.Spec.NodeName == node && q.owns(pod)
	})
}
