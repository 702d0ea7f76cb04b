// Package reconcile is one reconcile of a TrainingJob, and when the next one is due. It needs no manager: the operator
// (pkg/operator/controller), local runs (pkg/local) and the simulator (test/sim) all call it.
//
//	Pass                   observe, plan, record, act, read
//	PodDelay, NodeMatters  whether and how soon a changed object requires a reconcile
//	Retries                how soon after an error
package reconcile

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
)

// RetryConflict is how long to wait for the cache after another client wrote the job first, in case no watch event comes.
const RetryConflict = 200 * time.Millisecond

// Cluster is the part of the cluster that Pass needs: *cluster.Cluster, or a simulation's wrapper around it.
type Cluster interface {
	Observe(ctx context.Context, job client.ObjectKey) (*state.Snapshot, error)
	Record(ctx context.Context, job *v1alpha1.TrainingJob, p *plan.Plan) error
	Act(ctx context.Context, job *v1alpha1.TrainingJob, steps []plan.Step) error
	Read(ctx context.Context, s *state.Snapshot, r state.Reads) (again bool, err error)
	Retry(job *v1alpha1.TrainingJob) time.Time
}

// Pass reconciles one job: observe, plan, record, act, read. It calls recorded with the recorded status. again is when to reconcile
// without another event, 0 for never. After an error the job is tried again.
func Pass(ctx context.Context, c Cluster, job client.ObjectKey, recorded func(*v1alpha1.TrainingJob, *plan.Plan)) (again time.Duration, err error) {
	s, err := c.Observe(ctx, job)
	if err != nil || s == nil {
		return retry("observing", err)
	}
	p := plan.Make(s)
	if debug := log.FromContext(ctx).V(1); debug.Enabled() {
		debug.Info("planned", "plan", p.String())
	}
	switch err := c.Record(ctx, s.Job, &p); {
	case apierrors.IsNotFound(err): // the job was deleted meanwhile, and the cache will show it soon
		return RetryConflict, nil
	case err != nil:
		return retry("recording", err)
	}
	recorded(s.Job, &p)
	if err := c.Act(ctx, s.Job, p.Steps); err != nil {
		return retry("acting", err)
	}
	hasNews, err := c.Read(ctx, s, p.Reads)
	if err != nil {
		return retry("reading", err)
	}
	wake := state.Earliest(p.Wake, c.Retry(s.Job))
	switch {
	case hasNews:
		wake = s.Now
	case wake.IsZero():
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
		return RetryConflict, nil
	default:
		return 0, fmt.Errorf("%s: %w", doing, err)
	}
}

// A job whose reconcile fails is tried again after retryFirst, doubling to retryAtMost. The API server may be back at any time,
// and no deadline may be late by more than that.
const (
	retryFirst  = 5 * time.Millisecond
	retryAtMost = time.Minute
)

// Retries returns how long an item of a queue waits after an error, by the number of its errors in a row.
func Retries[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](retryFirst, retryAtMost)
}
