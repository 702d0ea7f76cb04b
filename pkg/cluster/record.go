package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
)

// Record writes the plan's status, with the resourceVersion of the plan's job, and then its Events. It writes nothing if the status is
// unchanged. It returns a conflict error if another client wrote first.
func (c *Cluster) Record(ctx context.Context, job *v1alpha1.TrainingJob, p *plan.Plan) error {
	if !equality.Semantic.DeepEqual(job.Status, p.Status) {
		updated := job.DeepCopy()
		updated.Status = p.Status
		if err := c.client.Status().Update(ctx, updated); err != nil {
			if !apierrors.IsConflict(err) { // it may have been done all the same, and the cache does not show it yet
				c.startup.remove(job.UID)
				c.memo(job, func(m *jobMemo) { m.verified = false })
			}
			return fmt.Errorf("writing the status: %w", err)
		}
		c.startup.remove(job.UID)
		c.memo(job, func(m *jobMemo) { m.recorded, m.verified = c.clock.Now(), true })
	}
	for _, e := range p.Events {
		c.tell(job, p, &e)
		switch e.Reason {
		case v1alpha1.EventSpareRefused:
			c.refusalTold(job, func(m *jobMemo) *refused { return &m.spares })
		case v1alpha1.EventDeletionRefused:
			c.refusalTold(job, func(m *jobMemo) *refused { return &m.replicas })
		}
	}
	return nil
}

// tell writes an Event. An Event about a node goes to the namespace default, where an operator without the right to read nodes may not
// write.
func (c *Cluster) tell(job *v1alpha1.TrainingJob, p *plan.Plan, e *plan.Event) {
	switch {
	case e.Node == "":
		c.events.Eventf(job, related(job, p), e.Type, e.Reason, e.Action, "%s", e.Message)
	case c.options.WatchNodes:
		node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: e.Node, UID: types.UID(e.Node)}}
		c.events.Eventf(node, job, e.Type, e.Reason, e.Action, "%s", e.Message)
	}
}

// related returns the pod that the plan's restarts began with, or nil. It distinguishes Events of one reason on one job.
func related(job *v1alpha1.TrainingJob, p *plan.Plan) runtime.Object {
	if len(p.Restarts) == 0 {
		return nil
	}
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: p.Restarts[0].Pod},
	}
}
