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

// addProgress adds the report of the job's progress Lease about the present life to the observation.
func (c *Cluster) addProgress(ctx context.Context, o *state.Observed) error {
	if o.Job.Spec.Progress == nil {
		return nil
	}
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: o.Job.Namespace, Name: state.LeaseName(o.Job.Name)}
	if err := c.client.Get(ctx, key, &lease); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the progress Lease: %w", err)
	}
	if o.HasLease = isControlledBy(&lease, o.Job); o.HasLease && o.Heeds(&lease) {
		o.Progress = state.ProgressOf(&lease)
		o.Progress.Renewed = c.believable(o.Job, o.Progress.Renewed)
	}
	return nil
}

// ahead is a renewal from a clock that is ahead of ours.
type ahead struct{ says, seen time.Time }

// believable returns when the Lease was renewed. A time in the future counts as the time when the operator first saw it. Otherwise a
// wrong clock would hide a hang.
func (c *Cluster) believable(job *v1alpha1.TrainingJob, renewed time.Time) time.Time {
	known := c.memo(job, func(m *jobMemo) {
		if now := c.clock.Now(); renewed.After(now) && !m.ahead.says.Equal(renewed) {
			m.ahead = ahead{says: renewed, seen: now}
		}
	}).ahead
	if !renewed.IsZero() && known.says.Equal(renewed) {
		return known.seen
	}
	return renewed
}
