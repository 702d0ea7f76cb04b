package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trainingjob/operator/pkg/cluster"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

// retryConflict is how long to wait for the cache when somebody else wrote the job first and no watch event may come.
const retryConflict = 200 * time.Millisecond

// Reconciler brings jobs and their pods together.
type Reconciler struct {
	cluster *cluster.Cluster
	metrics *metrics
}

// Reconcile does for one job: observe, plan, record, act.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.cluster.Observe(ctx, req.NamespacedName)
	if err != nil || s == nil {
		return settle("observing", err)
	}
	p := plan.Make(s)
	if err := r.cluster.Record(ctx, s.Job, &p); err != nil {
		return settle("recording", err)
	}
	r.metrics.record(s.Job, &p)
	if err := r.cluster.Act(ctx, s.Job, p.Steps); err != nil {
		return settle("acting", err)
	}
	wake := state.Earliest(p.Wake, r.cluster.Retry(s.Job))
	if wake.IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(wake.Sub(s.Now), time.Millisecond)}, nil
}

// settle asks for another try: in silence after a conflict, with the error otherwise.
func settle(doing string, err error) (ctrl.Result, error) {
	switch {
	case err == nil:
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: retryConflict}, nil
	default:
		return ctrl.Result{}, fmt.Errorf("%s: %w", doing, err)
	}
}
