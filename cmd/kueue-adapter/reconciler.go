package main

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// reconciler runs Kueue's generic controller for one job, after quotas.
type reconciler struct {
	client client.Client
	quotas quotas
	kueue  reconcile.Reconciler
}

// setUpJobs adds the controller to the manager.
func setUpJobs(mgr manager.Manager, generic reconcile.Reconciler) error {
	r := &reconciler{client: mgr.GetClient(), quotas: quotas{mgr.GetClient()}, kueue: generic}
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.TrainingJob{}).Owns(&kueue.Workload{}).Complete(r)
}

// Reconcile handles one job, and shows in the job why Kueue's controller cannot.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var job v1alpha1.TrainingJob
	err := r.client.Get(ctx, req.NamespacedName, &job)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	j := (*trainingJob)(&job)
	if err == nil && !j.isForeign() && j.DeletionTimestamp.IsZero() {
		if wrote, err := r.quotas.look(ctx, j); wrote || err != nil {
			return ctrl.Result{}, ignoreConflict(err)
		}
	}
	result, err := r.kueue.Reconcile(ctx, req)
	if failed := r.showFailure(ctx, req, err); failed != nil {
		err = errors.Join(err, failed)
	}
	if j.Spec.IsDispatched() && j.IsSuspended() && j.IsActive() {
		result.RequeueAfter = recheckDispatched
	}
	return result, ignoreConflict(err)
}

// ignoreConflict returns nil for a conflict: the cache shows the other client's write soon, which starts another reconcile.
func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}
