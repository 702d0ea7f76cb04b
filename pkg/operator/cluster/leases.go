package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/operator/reads"
)

// LeasesOf returns a function that reads the Leases of all nodes from the API server, which shows a state no older than the request, and
// the nodes from the cache. Without the right to list Leases it logs that once, and returns an error.
func LeasesOf(cached, live client.Reader, clock clock.PassiveClock, log logr.Logger) reads.ReadLeases {
	var once sync.Once
	return func(ctx context.Context) (map[string]nodes.Lease, error) {
		var all coordinationv1.LeaseList
		if err := live.List(ctx, &all, client.InNamespace(corev1.NamespaceNodeLease)); err != nil {
			if apierrors.IsForbidden(err) {
				once.Do(func() {
					log.Info("Silent nodes are noticed late: grant the operator the right to list leases", "namespace", corev1.NamespaceNodeLease)
				})
			}
			return nil, fmt.Errorf("listing the Leases of nodes: %w", err)
		}
		read := map[string]nodes.Lease{}
		for i := range all.Items {
			var node corev1.Node
			lease := &all.Items[i]
			if cached.Get(ctx, client.ObjectKey{Name: lease.Name}, &node, client.UnsafeDisableDeepCopy) != nil || lease.Spec.RenewTime == nil {
				continue // a node that is gone, or not known yet
			}
			duration := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
			read[lease.Name] = nodes.LeaseOf(&node, lease.Spec.RenewTime.Time, duration, clock.Now())
		}
		return read, nil
	}
}
