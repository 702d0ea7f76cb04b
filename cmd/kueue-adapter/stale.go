package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadevict "sigs.k8s.io/kueue/pkg/workload/evict"
)

// Kueue's scheduler writes an admission without the resourceVersion of the Workload that it read. If the job and its Workload change in
// between, the quota is of the former number of pods, or of their former requests, and looks like a partial admission of the present ones.

// returnToQueue deletes the Workloads of a waiting job whose quota is not of their present spec. Kueue's controller makes a new one. wrote
// reports whether it has deleted any.
func (q *quotas) returnToQueue(ctx context.Context, j *trainingJob, all []kueue.Workload) (wrote bool, err error) {
	if !j.IsSuspended() || j.isStarted() || j.IsActive() { // its pods hold the quota
		return false, nil
	}
	for i := range all {
		if !isOfFormerSpec(&all[i]) {
			continue
		}
		if _, err := workload.Delete(ctx, q.client, &all[i]); client.IgnoreNotFound(err) != nil {
			return wrote, fmt.Errorf("deleting Workload %s, whose quota is of a former size of its job: %w", all[i].Name, err)
		}
		wrote = true
	}
	return wrote, nil
}

// isOfFormerSpec reports whether the quota of a Workload was reserved before its spec changed. Its deletion and deactivation change the
// generation too.
func isOfFormerSpec(w *kueue.Workload) bool {
	reserved := meta.FindStatusCondition(w.Status.Conditions, kueue.WorkloadQuotaReserved)
	return workload.HasQuotaReservation(w) && reserved.ObservedGeneration < w.Generation &&
		workload.IsActive(w) && !workloadevict.IsEvicted(w) && w.DeletionTimestamp.IsZero()
}
