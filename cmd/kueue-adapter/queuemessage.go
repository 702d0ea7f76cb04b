package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

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
	if job.UID != owner.UID || job.Annotations[v1alpha1.AnnotationQueueMessage] == said {
		return ctrl.Result{}, nil
	}
	before := job.DeepCopy()
	if said == "" {
		delete(job.Annotations, v1alpha1.AnnotationQueueMessage)
	} else {
		metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1alpha1.AnnotationQueueMessage, said)
	}
	if err := q.client.Patch(ctx, &job, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("telling job %s why it waits: %w", job.Name, err))
	}
	return ctrl.Result{}, nil
}

// ownerOf returns the reference to the TrainingJob that controls the object, or nil.
func ownerOf(o client.Object) *metav1.OwnerReference {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.Kind == gvk.Kind && ref.APIVersion == gvk.GroupVersion().String() {
		return ref
	}
	return nil
}

// whyItWaits returns Kueue's message about a Workload that has no quota; empty if it has some, or if there is no message yet.
func whyItWaits(w *kueue.Workload) string {
	c := meta.FindStatusCondition(w.Status.Conditions, kueue.WorkloadQuotaReserved)
	if c == nil || c.Status != metav1.ConditionFalse || meta.IsStatusConditionTrue(w.Status.Conditions, kueue.WorkloadFinished) {
		return ""
	}
	return c.Message
}
