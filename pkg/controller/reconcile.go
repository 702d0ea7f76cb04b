package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cluster"
	"github.com/trainingjob/operator/pkg/history"
	"github.com/trainingjob/operator/pkg/journal"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/pkg/trace"
)

// retryConflict is how long to wait for the cache after another client wrote the job first, because no watch event may come.
const retryConflict = 200 * time.Millisecond

// Reconciler brings jobs and their pods together.
type Reconciler struct {
	cluster *cluster.Cluster
	metrics *counted
	// log receives the history of each job, without the fields that controller-runtime adds.
	log logr.Logger
	// traces receive the complete spans of each job; nil without an endpoint.
	traces Traces
	// waiting is how many jobs wait for their namespace's share of the workers.
	waiting atomic.Int64
}

func (r *Reconciler) waitingReconciles() int { return int(r.waiting.Load()) }

// Traces takes spans. It must not wait, and cannot fail.
type Traces interface{ Tell(spans []trace.Span) }

// Reconcile handles the job once and returns the time of the next reconcile.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	again, err := Pass(ctx, r.cluster, req.NamespacedName, r.recorded)
	return ctrl.Result{RequeueAfter: again}, err
}

// recorded reports a written status to the metrics, the log and the traces.
func (r *Reconciler) recorded(job *v1alpha1.TrainingJob, p *plan.Plan) {
	happened := history.Between(job, &p.Status, p.Restarts)
	r.metrics.record(happened)
	for _, line := range journal.Lines(happened) {
		r.log.Info(line.Message, line.Fields()...)
	}
	if r.traces != nil {
		r.traces.Tell(trace.Spans(happened))
	}
}

// Cluster is what a pass needs of the cluster: *cluster.Cluster, or what a simulation puts around it.
type Cluster interface {
	Observe(ctx context.Context, job client.ObjectKey) (*state.Snapshot, error)
	Record(ctx context.Context, job *v1alpha1.TrainingJob, p *plan.Plan) error
	Act(ctx context.Context, job *v1alpha1.TrainingJob, steps []plan.Step) error
	Retry(job *v1alpha1.TrainingJob) time.Time
}

// Pass does for one job: observe, plan, record, act. recorded is called with what was recorded. It returns after which time to look
// at the job again although nothing happens, 0 for never; and an error after which the job is to be tried again.
func Pass(ctx context.Context, c Cluster, job client.ObjectKey, recorded func(*v1alpha1.TrainingJob, *plan.Plan)) (again time.Duration, err error) {
	s, err := c.Observe(ctx, job)
	if err != nil || s == nil {
		return retry("observing", err)
	}
	p := plan.Make(s)
	if log := ctrl.LoggerFrom(ctx).V(1); log.Enabled() {
		log.Info("planned", "plan", p.String())
	}
	switch err := c.Record(ctx, s.Job, &p); {
	case apierrors.IsNotFound(err): // the job was deleted meanwhile, which the cache is about to show
		return retryConflict, nil
	case err != nil:
		return retry("recording", err)
	}
	recorded(s.Job, &p)
	if err := c.Act(ctx, s.Job, p.Steps); err != nil {
		return retry("acting", err)
	}
	wake := state.Earliest(p.Wake, c.Retry(s.Job))
	if wake.IsZero() {
		return 0, nil
	}
	return max(wake.Sub(s.Now), time.Millisecond), nil
}

// retry returns a result for another try: silent after a conflict, with the error otherwise.
func retry(doing string, err error) (again time.Duration, _ error) {
	switch {
	case err == nil:
		return 0, nil
	case apierrors.IsConflict(err):
		return retryConflict, nil
	default:
		return 0, fmt.Errorf("%s: %w", doing, err)
	}
}
