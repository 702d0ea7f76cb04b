package cluster

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// addProgress adds the progress Lease of the present life to the observed state.
func (c *Cluster) addProgress(ctx context.Context, o *state.Observed) error {
	if o.Job.Spec.Progress == nil {
		return nil
	}
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: o.Job.Namespace, Name: state.LeaseName(o.Job.Name)}
	if err := c.client.Get(ctx, key, &lease); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the progress Lease: %w", err)
	}
	if o.HasLease = isOwnedBy(&lease, o.Job); o.HasLease && o.Heeds(&lease) {
		o.Progress = state.ProgressOf(&lease)
		o.Progress.Renewed = c.renewedAt(o.Job, o.Progress.Renewed)
	}
	return nil
}

// ahead is a renewal with a time in the future, from a wrong clock.
type ahead struct{ claimed, seen time.Time }

// renewedAt returns when the Lease was renewed. A renewal with a time in the future counts from when the operator first saw it.
// Otherwise a wrong clock would hide a hang.
func (c *Cluster) renewedAt(job *v1alpha1.TrainingJob, renewed time.Time) time.Time {
	known := c.memo(job, func(m *jobMemo) {
		if now := c.clock.Now(); renewed.After(now) && !m.ahead.claimed.Equal(renewed) {
			m.ahead = ahead{claimed: renewed, seen: now}
		}
	}).ahead
	if !renewed.IsZero() && known.claimed.Equal(renewed) {
		return known.seen
	}
	return renewed
}
