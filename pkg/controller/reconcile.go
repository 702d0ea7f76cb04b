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

// retryConflict is how long to wait for the cache after another client wrote the job first, in case no watch event comes.
const retryConflict = 200 * time.Millisecond

// Reconciler brings jobs and their pods together.
type Reconciler struct {
	cluster *cluster.Cluster
	metrics *counted
	// log gets the history of each job, without the fields that controller-runtime adds for a reconcile.
	log logr.Logger
	// traces takes the finished spans of each job; nil if tracing is off.
	traces Traces
	// waiting is how many jobs wait for their namespace's share of the workers.
	waiting atomic.Int64
}

// Traces takes spans. It must not wait, and cannot fail.
type Traces interface{ Tell(spans []trace.Span) }

// Reconcile reconciles the job once and returns when to do it again.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	again, err := Pass(ctx, r.cluster, req.NamespacedName, r.recorded)
	return ctrl.Result{RequeueAfter: again}, err
}

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

// Cluster is the part of the cluster that Pass needs: *cluster.Cluster, or a simulation's wrapper around it.
type Cluster interface {
	Observe(ctx context.Context, job client.ObjectKey) (*state.Snapshot, error)
	Record(ctx context.Context, job *v1alpha1.TrainingJob, p *plan.Plan) error
	Act(ctx context.Context, job *v1alpha1.TrainingJob, steps []plan.Step) error
	Retry(job *v1alpha1.TrainingJob) time.Time
}

// Pass reconciles one job: observe, plan, record, act. It calls recorded with the recorded status. again is when to reconcile
// without another event, 0 for never. After an error the job is tried again.
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
	case apierrors.IsNotFound(err): // the job was deleted meanwhile, and the cache will show it soon
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

// retry requests another try: in silence after a conflict, with the error otherwise.
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
