package kubeflow

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// concurrent is how many jobs of a kind are reconciled at the same time. Each needs a few requests at most.
const concurrent = 32

// AddToManager has the cache of the manager hold the jobs of the kinds, and its client read them there.
func AddToManager(options *manager.Options, kinds []Kind) {
	for _, kind := range kinds {
		options.Cache.ByObject[kind.empty()] = cache.ByObject{Label: labels.Everything(), Transform: trim}
		options.Client.Cache.Unstructured = true
	}
}

// empty returns an object of the kind.
func (k Kind) empty() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.GroupVersionKind())
	return o
}

// trim returns the job with only the names and times of its managed fields, and of those only the status'.
func trim(o any) (any, error) {
	job, isObject := o.(client.Object)
	if !isObject {
		return o, nil
	}
	var writers []metav1.ManagedFieldsEntry
	for _, entry := range job.GetManagedFields() {
		if entry.Subresource == "status" {
			writers = append(writers, metav1.ManagedFieldsEntry{Manager: entry.Manager, Subresource: entry.Subresource, Time: entry.Time})
		}
	}
	job.SetManagedFields(writers)
	return o, nil
}

// Setup adds a controller for each kind to the manager, which emits Events as source. The jobs of excluded namespaces get an Event and nothing
// else. It returns an error if the manager has started, or has served kinds already.
func Setup(mgr manager.Manager, kinds []Kind, source string, excluded ...string) error {
	if len(kinds) == 0 {
		return nil
	}
	counts, err := newCounters(metrics.Registry)
	if err != nil {
		return fmt.Errorf("registering the metrics of Kubeflow jobs: %w", err)
	}
	jobs := newStarting()
	for _, kind := range kinds {
		countDeleted := predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
			counts.sawGone(e.Object.GetNamespace(), kind)
			return true
		}}
		r := &reconciler{
			kind: kind, counts: counts, client: mgr.GetClient(), live: mgr.GetAPIReader(), events: mgr.GetEventRecorder(source), clock: clock.RealClock{},
			starting: jobs,
		}
		if err := kind.control(mgr, "kubeflow-"+kind.Name, concurrent, r, outsideOf(excluded, r.events), countDeleted); err != nil {
			return err
		}
		if err := kind.control(mgr, "kubeflow-services-"+kind.Name, serviceWorkers, services{r}); err != nil { // an excluded job has no TrainingJob
			return err
		}
	}
	return nil
}

// control adds a controller of that name for the jobs of the kind that pass the filters, and for their TrainingJobs and deleted Services.
func (k Kind) control(mgr manager.Manager, name string, workers int, r reconcile.Reconciler, filters ...predicate.Predicate) error {
	ofChild := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.TrainingJob{}) // it has the name of its job
	deletions := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return !e.ObjectNew.GetDeletionTimestamp().IsZero() },
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(k.empty(), builder.WithPredicates(filters...)).
		Owns(&v1alpha1.TrainingJob{}).
		Watches(&corev1.Service{}, ofChild, builder.WithPredicates(deletions)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller %s: %w", name, err)
	}
	return nil
}

// outsideOf drops what happens to jobs of excluded namespaces. A job there gets one Event when it appears.
func outsideOf(excluded []string, recorder events.EventRecorder) predicate.Predicate {
	isOutside := func(job client.Object) bool { return !slices.Contains(excluded, job.GetNamespace()) }
	filter := predicate.NewPredicateFuncs(isOutside)
	filter.CreateFunc = func(e event.CreateEvent) bool {
		if isOutside(e.Object) {
			return true
		}
		recorder.Eventf(e.Object, nil, corev1.EventTypeWarning, v1alpha1.EventNamespaceExcluded, "Ignore",
			"The operator runs no jobs in namespace %s (--exclude-namespaces): create the job in another namespace.", e.Object.GetNamespace())
		return false
	}
	return filter
}
