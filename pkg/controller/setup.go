// Package controller reconciles TrainingJobs: it watches jobs and their children, and passes each job through one
// straight line: observe, plan, record, act.
package controller

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cluster"
)

// EventSource names the operator in the Events that it writes.
const EventSource = "trainingjob-operator"

// A job whose reconcile fails is looked at again after retryFirst, doubling to retryAtMost: the API server may be back at any
// time, and then no deadline should be late by more than that.
const (
	retryFirst  = 5 * time.Millisecond
	retryAtMost = time.Minute
)

// Retries returns how long a job waits after an error, by the number of errors in a row.
func Retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryAtMost)
}

// Options are what the controller does beside what the cluster needs to know.
type Options struct {
	// Concurrent is how many jobs are reconciled at the same time.
	Concurrent int
	// JobMetrics is whether each job has metrics of its own.
	JobMetrics bool
	// Version is the version of the program, for its metrics.
	Version string
	// Traces takes the spans of jobs; nil without an endpoint.
	Traces  Traces
	Cluster cluster.Options
}

// Setup adds the TrainingJob controller to the manager. It returns an error if the manager has started or has such a controller already.
func Setup(ctx context.Context, mgr manager.Manager, o Options) error {
	if err := cluster.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("indexing pods by job and node: %w", err)
	}
	counted, err := newCounted(crmetrics.Registry)
	if err != nil {
		return fmt.Errorf("registering the metrics: %w", err)
	}
	r := &Reconciler{
		cluster: cluster.New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(EventSource), clock.RealClock{}, o.Cluster),
		metrics: counted,
		log:     mgr.GetLogger(),
		traces:  o.Traces,
	}
	all := &collector{
		jobs: mgr.GetClient(), leads: mgr.Elected(), clock: clock.RealClock{}, version: o.Version, perJob: o.JobMetrics, excluded: o.Cluster.Excluded,
		broken: r.cluster.BrokenNodes, reconciles: r.waitingReconciles, writes: r.cluster.WaitingWrites,
	}
	if err := crmetrics.Registry.Register(all.describe()); err != nil {
		return fmt.Errorf("registering the metrics of jobs: %w", err)
	}
	return watch(ctx, mgr, r, o)
}

// watch has the manager reconcile jobs when they or their children change.
func watch(ctx context.Context, mgr manager.Manager, r *Reconciler, o Options) error {
	jobs := ctrl.NewControllerManagedBy(mgr).
		Named("trainingjob").
		For(&v1alpha1.TrainingJob{}).
		Watches(&corev1.Pod{}, podEvents(r.cluster)).
		Owns(&corev1.Service{}).
		Watches(&coordinationv1.Lease{}, leaseEvents()).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrent, RateLimiter: Retries(), NewQueue: fairQueues(o.Concurrent, &r.waiting)})
	if o.Cluster.WatchNodes {
		jobs = jobs.Watches(&corev1.Node{}, nodeEvents(r.cluster))
	}
	built, err := jobs.Build(r)
	if err != nil {
		return err
	}
	groups, err := watchGroups(ctx, mgr, built, r.cluster)
	if err != nil {
		return err
	}
	return mgr.Add(groups)
}
