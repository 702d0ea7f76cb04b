package controller

import (
	"context"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/history"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/journal"
	"github.com/trainingjob/operator/pkg/operator/reconcile"
)

// Reconciler brings jobs and their pods together.
type Reconciler struct {
	cluster *cluster.Cluster
	metrics *counted
	// log gets the history of each job, without the fields that controller-runtime adds for a reconcile.
	log logr.Logger
}

// Reconcile reconciles the job once and returns when to do it again.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	again, err := reconcile.Pass(ctx, r.cluster, req.NamespacedName, r.recorded)
	return ctrl.Result{RequeueAfter: again}, err
}

func (r *Reconciler) recorded(job *v1alpha1.TrainingJob, p *plan.Plan) {
	happened := history.Between(job, &p.Status, p.Restarts)
	r.metrics.record(happened)
	for _, line := range journal.Lines(happened) {
		r.log.Info(line.Message, line.Fields()...)
	}
}
