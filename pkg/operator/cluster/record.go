package cluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Record writes the plan's status, with the resourceVersion that the plan was made from, and then emits its Events. It does not
// write an unchanged status. It returns a conflict error if another client wrote first.
func (c *Cluster) Record(ctx context.Context, job *v1alpha1.TrainingJob, p *plan.Plan) error {
	if !equality.Semantic.DeepEqual(job.Status, p.Status) {
		updated := job.DeepCopy()
		updated.Status = p.Status
		if err := c.client.Status().Update(ctx, updated); err != nil {
			if !apierrors.IsConflict(err) { // the write may have succeeded, and the cache does not show it yet
				c.startup.remove(job)
				c.memo(job, func(m *jobMemo) { m.verified = false })
			}
			return fmt.Errorf("writing the status: %w", err)
		}
		c.startup.remove(job)
		c.memo(job, func(m *jobMemo) { m.recorded, m.verified = c.clock.Now(), true })
	}
	for _, e := range p.Events {
		c.emit(ctx, job, p, &e)
		if e.Reason == v1alpha1.EventDeletionRefused {
			c.markReported(job)
		}
	}
	return nil
}

// emit writes an Event. An Event about a node goes to the namespace default, and only if the node exists. An operator that may not read nodes may
// not write there.
func (c *Cluster) emit(ctx context.Context, job *v1alpha1.TrainingJob, p *plan.Plan, e *plan.Event) {
	switch {
	case e.Node == "":
		c.emitOn(job, related(job, p), e)
	case c.options.WatchNodes && c.client.Get(ctx, client.ObjectKey{Name: e.Node}, &corev1.Node{}, client.UnsafeDisableDeepCopy) == nil:
		node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: e.Node, UID: types.UID(e.Node)}}
		c.events.Eventf(node, job, e.Type, e.Reason, e.Action, "%s", e.Message)
	}
}

// alsoServed are the normal Events that are about a served job too: what stops or restarts its pods, or changes a charge.
var alsoServed = []string{v1alpha1.EventReplicaRestarting, v1alpha1.EventIncidentExplained, v1alpha1.EventCheckpointRequested, v1alpha1.EventCheckpointSaved}

// emitOn writes an Event about the job. A warning, and what alsoServed lists, is also about the Kubeflow job or JobSet that the job serves, and its TrainJob:
// their user may not know of the TrainingJob. The served job itself shows that it begins to restart, or fails: it mirrors these conditions, with Events
// that have the reasons of its kind.
func (c *Cluster) emitOn(job *v1alpha1.TrainingJob, related runtime.Object, e *plan.Event) {
	c.events.Eventf(job, related, e.Type, e.Reason, e.Action, "%s", e.Message)
	isMirrored := (e.Reason == v1alpha1.EventRestarting || e.Reason == v1alpha1.ConditionFailed) && !meta.IsStatusConditionTrue(job.Status.Conditions, e.Reason)
	if isMirrored || e.Type != corev1.EventTypeWarning && !slices.Contains(alsoServed, e.Reason) {
		return
	}
	for _, about := range state.ServedFor(job) {
		c.events.Eventf(about, related, e.Type, e.Reason, e.Action, "%s", e.Message)
	}
}

// related returns the pod of the plan's first restart, or nil. It distinguishes Events with one reason on one job.
func related(job *v1alpha1.TrainingJob, p *plan.Plan) runtime.Object {
	if len(p.Restarts) == 0 {
		return nil
	}
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: p.Restarts[0].Pod},
	}
}

// exclude writes an Event about a job in an excluded namespace, once for each process. It writes no status: another controller
// may run the job.
func (c *Cluster) exclude(job *v1alpha1.TrainingJob) {
	first := false
	c.memo(job, func(m *jobMemo) { first, m.excluded = !m.excluded, true })
	if first && !job.Spec.IsManagedElsewhere() {
		c.events.Eventf(job, nil, corev1.EventTypeWarning, v1alpha1.EventNamespaceExcluded, "Ignore",
			"The operator runs no jobs in namespace %s (--exclude-namespaces): create the job in another namespace.", job.Namespace)
	}
}
