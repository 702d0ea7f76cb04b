package serve

import (
	"fmt"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/operator/fair"
	pass "github.com/trainingjob/operator/pkg/operator/reconcile"
)

// concurrent is how many jobs of a kind are reconciled at the same time. Each needs a few requests at most. As many reads of all kinds go to the API
// server at the same time.
const concurrent = 32

// empty returns an object of the kind.
func (k Kind) empty() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.GroupVersionKind())
	return o
}

// Setup adds a controller for each kind to the manager, which emits Events as source. The workers of each are shared between namespaces, and waiting
// counts the jobs that wait for a share. The jobs of excluded namespaces get an Event and nothing else. It returns an error if the manager has
// started, or has served kinds already.
func Setup(mgr manager.Manager, kinds []Kind, source string, waiting *atomic.Int64, excluded ...string) error {
	if len(kinds) == 0 {
		return nil
	}
	counts, err := newCounters(metrics.Registry)
	if err != nil {
		return fmt.Errorf("registering the metrics of Kubeflow jobs: %w", err)
	}
	jobs, live := newStarting(), NewReader(mgr)
	for _, kind := range kinds {
		countDeleted := predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
			counts.sawGone(e.Object.GetNamespace(), kind)
			return true
		}}
		r := &reconciler{Engine: NewEngine(mgr, kind, live, source, waiting), counts: counts, starting: jobs}
		if err := r.Control(mgr, "kubeflow-"+kind.Name, r, OutsideOf(excluded, r.Events), countDeleted); err != nil {
			return err
		}
		if err := r.control(mgr, "kubeflow-services-"+kind.Name, serviceWorkers, services{r}); err != nil { // an excluded job has no TrainingJob
			return err
		}
	}
	return nil
}

// NewReader returns a reader of the API server whose requests are shared between namespaces.
func NewReader(mgr manager.Manager) client.Reader { return fair.Reader(mgr.GetAPIReader(), concurrent) }

// NewEngine returns an engine for the parents of one kind, which emits Events as source.
func NewEngine(mgr manager.Manager, kind Kind, live client.Reader, source string, waiting *atomic.Int64) Engine {
	return Engine{Kind: kind, Client: mgr.GetClient(), Live: live, Events: mgr.GetEventRecorder(source), Clock: clock.RealClock{}, Waiting: waiting}
}

// Control adds a controller of that name for the parents that pass the filters.
func (r *Engine) Control(mgr manager.Manager, name string, by reconcile.Reconciler, filters ...predicate.Predicate) error {
	return r.control(mgr, name, concurrent, by, filters...)
}

// control adds a controller of that name for the jobs of the kind that pass the filters, and for their TrainingJobs and deleted Services.
func (r *Engine) control(mgr manager.Manager, name string, workers int, by reconcile.Reconciler, filters ...predicate.Predicate) error {
	ofChild := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.TrainingJob{}) // it has the name of its job
	deletions := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return !e.ObjectNew.GetDeletionTimestamp().IsZero() },
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(r.Kind.empty(), builder.WithPredicates(filters...)).
		Owns(&v1alpha1.TrainingJob{}).
		Watches(&corev1.Service{}, ofChild, builder.WithPredicates(deletions)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers, RateLimiter: pass.Retries[ctrl.Request](), NewQueue: fair.Queues(workers, r.Waiting),
		}).
		Complete(by)
	if err != nil {
		return fmt.Errorf("setting up the controller %s: %w", name, err)
	}
	return nil
}

// OutsideOf drops what happens to jobs of excluded namespaces. A job there gets one Event when it appears, unless another controller runs it.
func OutsideOf(excluded []string, recorder events.EventRecorder) predicate.Predicate {
	isOutside := func(job client.Object) bool { return !slices.Contains(excluded, job.GetNamespace()) }
	filter := predicate.NewPredicateFuncs(isOutside)
	filter.CreateFunc = func(e event.CreateEvent) bool {
		if isOutside(e.Object) {
			return true
		}
		if job, isPacked := e.Object.(*unstructured.Unstructured); isPacked && job.Object[elsewhere] == true {
			return false
		}
		recorder.Eventf(e.Object, nil, corev1.EventTypeWarning, v1alpha1.EventNamespaceExcluded, "Ignore",
			"The operator runs no jobs in namespace %s (--exclude-namespaces): create the job in another namespace.", e.Object.GetNamespace())
		return false
	}
	return filter
}
