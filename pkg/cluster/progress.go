package cluster

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/state"
)

// addProgress puts what the job's progress Lease says into the snapshot.
func (c *Cluster) addProgress(ctx context.Context, s *state.Snapshot) error {
	if s.Job.Spec.Progress == nil {
		return nil
	}
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: s.Job.Namespace, Name: state.LeaseName(s.Job.Name)}
	if err := c.client.Get(ctx, key, &lease); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the progress Lease: %w", err)
	}
	if s.HasLease = isControlledBy(&lease, s.Job); s.HasLease {
		s.Progress = state.ProgressOf(&lease)
	}
	return nil
}
