package main

import (
	"context"
	"fmt"
	"math/bits"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/constants"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// mostBoost is the highest boost, of a job that would lose four hours or more.
const mostBoost = 8

// priorityBoosts reports the cost of a preemption to Kueue: the longer ago the newest checkpoint, the higher the boost of the Workload's
// priority. Among jobs of one priority Kueue then preempts the job that has just saved.
type priorityBoosts struct {
	client client.Client
	clock  clock.PassiveClock
}

// setUpPriorityBoosts adds the controller to the manager.
func setUpPriorityBoosts(mgr manager.Manager) error {
	p := &priorityBoosts{mgr.GetClient(), clock.RealClock{}}
	return ctrl.NewControllerManagedBy(mgr).Named("priority-boosts").For(&kueue.Workload{}).
		Watches(&v1alpha1.TrainingJob{}, handler.EnqueueRequestsFromMapFunc(p.workloadsOf)).Complete(p)
}

// workloadsOf returns the Workloads of a job.
func (p *priorityBoosts) workloadsOf(ctx context.Context, job client.Object) []reconcile.Request {
	var workloads kueue.WorkloadList
	if err := p.client.List(ctx, &workloads, client.InNamespace(job.GetNamespace()), jobframework.OwnerReferenceIndexFieldMatcher(gvk, job.GetName())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "a job has changed") // the cache has stopped, and the adapter with it
	}
	var requests []reconcile.Request
	for i := range workloads.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&workloads.Items[i])})
	}
	return requests
}

// Reconcile writes the boost of one Workload, and comes back when it grows.
func (p *priorityBoosts) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var workload kueue.Workload
	if err := p.client.Get(ctx, req.NamespacedName, &workload); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	owner := ownerOf(&workload)
	if owner == nil {
		return ctrl.Result{}, nil
	}
	var job v1alpha1.TrainingJob
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: owner.Name}, &job); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if job.UID != owner.UID || job.Spec.Progress == nil {
		return ctrl.Result{}, nil
	}
	boost, next := boostOf(unsavedFor(&job, p.clock.Now()))
	text, had := strconv.Itoa(boost), workload.Annotations[constants.PriorityBoostAnnotationKey]
	if had == text || had == "" && boost == 0 {
		return ctrl.Result{RequeueAfter: next}, nil
	}
	before := workload.DeepCopy()
	metav1.SetMetaDataAnnotation(&workload.ObjectMeta, constants.PriorityBoostAnnotationKey, text)
	if err := p.client.Patch(ctx, &workload, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("boosting the priority of Workload %s: %w", workload.Name, err))
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// unsavedFor returns for how long the job has run since its newest checkpoint; 0 if it does not run. A job that has never saved gets no
// boost either: otherwise a user could raise the priority of any job by spec.progress alone.
func unsavedFor(job *v1alpha1.TrainingJob, now time.Time) time.Duration {
	running := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionRunning)
	progress := job.Status.Progress
	hasSaved := progress != nil && progress.CheckpointTime != nil
	if !hasSaved || running == nil || running.Status != metav1.ConditionTrue || job.Spec.IsSuspended() {
		return 0
	}
	since := running.LastTransitionTime.Time
	if progress.CheckpointTime.After(since) {
		since = progress.CheckpointTime.Time
	}
	return max(0, now.Sub(since))
}

// boostOf returns the boost of a job that would lose so much, and in how long it grows; 0 for never. It is 1 after 2 minutes and one
// more each time that the loss has doubled, up to 8 after 256 minutes: each step makes Kueue sort its queue again.
func boostOf(unsaved time.Duration) (boost int, grows time.Duration) {
	boost = min(max(0, bits.Len64(uint64(unsaved/time.Minute))-1), mostBoost)
	if unsaved == 0 || boost == mostBoost {
		return boost, 0
	}
	return boost, time.Duration(2<<boost)*time.Minute - unsaved
}
