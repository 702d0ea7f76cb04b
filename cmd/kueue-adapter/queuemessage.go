package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// queueMessages copies Kueue's message about a wait from the Workload to an annotation of the job, which the operator shows in the job's
// status. Users then need no Workloads to find out what a job waits for.
type queueMessages struct{ client client.Client }

// setUpQueueMessages adds the controller to the manager.
func setUpQueueMessages(mgr manager.Manager) error {
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { return ownerOf(o) != nil })
	return ctrl.NewControllerManagedBy(mgr).Named("queue-messages").For(&kueue.Workload{}).WithEventFilter(ours).Complete(&queueMessages{mgr.GetClient()})
}

// Reconcile copies the message of one Workload to its job.
func (q *queueMessages) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var workload kueue.Workload
	if err := q.client.Get(ctx, req.NamespacedName, &workload); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	owner := ownerOf(&workload)
	if owner == nil {
		return ctrl.Result{}, nil
	}
	var job v1alpha1.TrainingJob
	if err := q.client.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: owner.Name}, &job); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	said := whyItWaits(&workload)
	switch j := (*trainingJob)(&job); {
	case jobframework.QueueName(j) == "":
		said = ""
	case j.isPaused() && said != "":
		said = "it was suspended, and does not wait for quota until kubectl tj resume " + job.Name
	}
	if job.UID != owner.UID {
		return ctrl.Result{}, nil
	}
	before := job.DeepCopy()
	annotate(&job, v1alpha1.AnnotationQueueMessage, said)
	annotate(&job, v1alpha1.AnnotationCluster, clusterOf(&workload))
	if maps.Equal(before.Annotations, job.Annotations) {
		return ctrl.Result{}, nil
	}
	// with the version that was read: it must not remove the annotations that another write adds to an empty map
	if err := q.client.Patch(ctx, &job, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("telling job %s why it waits: %w", job.Name, err))
	}
	return ctrl.Result{}, nil
}

// annotate sets an annotation of the job, or removes it if the value is empty.
func annotate(job *v1alpha1.TrainingJob, name, value string) {
	if value == "" {
		delete(job.Annotations, name)
	} else {
		metav1.SetMetaDataAnnotation(&job.ObjectMeta, name, value)
	}
}

// ownerOf returns the reference to the TrainingJob that controls the object, or nil.
func ownerOf(o client.Object) *metav1.OwnerReference {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.Kind == gvk.Kind && ref.APIVersion == gvk.GroupVersion().String() {
		return ref
	}
	return nil
}

// whyItWaits returns why a Workload is not admitted, in Kueue's words; empty if it is, or if there is no message yet.
func whyItWaits(w *kueue.Workload) string {
	conditions := w.Status.Conditions
	quota := meta.FindStatusCondition(conditions, kueue.WorkloadQuotaReserved)
	if quota == nil || meta.IsStatusConditionTrue(conditions, kueue.WorkloadAdmitted) || meta.IsStatusConditionTrue(conditions, kueue.WorkloadFinished) {
		return ""
	}
	if quota.Status == metav1.ConditionFalse {
		return quota.Message
	}
	var waits []string
	for _, check := range w.Status.AdmissionChecks {
		if check.State != kueue.CheckStateReady {
			waits = append(waits, strings.TrimSuffix(fmt.Sprintf("admission check %s is %s: %s", check.Name, check.State, check.Message), ": "))
		}
	}
	return strings.Join(waits, "; ")
}

// whyNoWorkload returns why Kueue's controller cannot make a Workload; empty if another try may succeed at once.
func whyNoWorkload(err error) string {
	isShort := err == nil || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		errors.Is(err, jobframework.ErrNoMatchingWorkloads) || errors.Is(err, jobframework.ErrExtraWorkloads)
	if isShort {
		return ""
	}
	return "it has no Workload: " + err.Error()
}

// showFailure writes into a waiting job why it has no Workload.
func (r *reconciler) showFailure(ctx context.Context, req ctrl.Request, failure error) error {
	var job v1alpha1.TrainingJob
	if err := r.client.Get(ctx, req.NamespacedName, &job); err != nil {
		return client.IgnoreNotFound(err)
	}
	j := (*trainingJob)(&job)
	said := whyNoWorkload(failure)
	if said == "" || !j.IsSuspended() || j.isForeign() || jobframework.QueueName(j) == "" {
		return nil
	}
	_, err := r.quotas.change(ctx, j, func() { metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationQueueMessage, said) })
	return err
}
