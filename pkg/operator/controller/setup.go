// Package controller reconciles TrainingJobs. It watches jobs and their children, and takes each job through one straight line:
// observe, plan, record, act, read.
package controller

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/gang"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/fair"
	"github.com/trainingjob/operator/pkg/operator/progress"
	"github.com/trainingjob/operator/pkg/operator/reads"
	"github.com/trainingjob/operator/pkg/operator/reconcile"
)

// EventSource is the operator's name in its Events.
const EventSource = "trainingjob-operator"

// Options are the controller's own settings, and the cluster's.
type Options struct {
	// Concurrent is how many jobs are reconciled at the same time.
	Concurrent int
	// JobMetrics is whether each job has its own metrics.
	JobMetrics bool
	// Version is the program's version, for its metrics.
	Version string
	// Others returns jobs of other kinds that the operator has yet to take up, without a status.
	Others func(context.Context) ([]v1alpha1.TrainingJob, error)
	// Waiting counts the jobs that wait for their namespace's share of the workers, of other controllers too.
	Waiting *atomic.Int64
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
	o.Cluster.Fence.Addresses = progress.ServerAddresses(mgr.GetConfig().Host)
	woken := make(chan event.TypedGenericEvent[client.ObjectKey])
	wake := func(job client.ObjectKey) {
		select {
		case woken <- event.TypedGenericEvent[client.ObjectKey]{Object: job}:
		case <-ctx.Done():
		}
	}
	o.Cluster.Wake = wake
	o.Cluster.Reader = reads.New(&reads.Settings{
		Page: progress.NewReader().Read, Leases: cluster.LeasesOf(mgr.GetClient(), mgr.GetAPIReader(), clock.RealClock{}, mgr.GetLogger()),
		Clock: clock.RealClock{}, Patience: o.Cluster.LostAfter, Log: mgr.GetLogger(), Changed: wake,
	})
	r := &Reconciler{
		cluster: cluster.New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(EventSource), clock.RealClock{}, o.Cluster),
		metrics: counted,
		log:     mgr.GetLogger(),
	}
	all := &collector{
		jobs: mgr.GetClient(), leads: mgr.Elected(), clock: clock.RealClock{}, version: o.Version, perJob: o.JobMetrics, excluded: o.Cluster.Excluded, others: o.Others,
		broken: r.cluster.BrokenNodes, reconciles: func() int { return int(o.Waiting.Load()) }, writes: r.cluster.WaitingWrites,
	}
	if err := crmetrics.Registry.Register(all.describe()); err != nil {
		return fmt.Errorf("registering the metrics of jobs: %w", err)
	}
	return watch(ctx, mgr, r, o, woken)
}

func watch(ctx context.Context, mgr manager.Manager, r *Reconciler, o Options, woken <-chan event.TypedGenericEvent[client.ObjectKey]) error {
	jobs := ctrl.NewControllerManagedBy(mgr).
		Named("trainingjob").
		For(&v1alpha1.TrainingJob{}).
		Watches(&corev1.Pod{}, podEvents(r.cluster)).
		Owns(&corev1.Service{}, builder.MatchEveryOwner, builder.WithPredicates(predicate.NewPredicateFuncs(isServiceOfJob))).
		WatchesRawSource(source.TypedChannel(woken, wakeEvents())).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrent, RateLimiter: reconcile.Retries[ctrl.Request](), NewQueue: fair.Queues(o.Concurrent, o.Waiting)})
	if o.Cluster.WatchNodes {
		jobs = jobs.Watches(&corev1.Node{}, nodeEvents(r.cluster))
	}
	built, err := jobs.Build(r)
	if err != nil {
		return err
	}
	groups := &groupWatcher{mgr: mgr, controller: built, cluster: r.cluster, missing: gang.Providers}
	if err := groups.watchServed(ctx); err != nil {
		return err
	}
	return mgr.Add(groups)
}
