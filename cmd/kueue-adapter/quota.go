package main

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/podset"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadevict "sigs.k8s.io/kueue/pkg/workload/evict"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// annotationDeactivated is on a Workload that the adapter has deactivated because its job is paused. Kueue deactivates Workloads too, and the
// adapter leaves those alone.
const annotationDeactivated = v1alpha1.AnnotationQueuePaused

// quotas keeps quota and pods together where Kueue relies on webhooks, which it has only for its own kinds of jobs: it ends the Workload of a
// job that has left its queue, pauses and resumes jobs, and corrects a job that has pods without quota.
type quotas struct{ client client.Client }

// look handles one job of the operator or of MultiKueue that is not deleted. wrote reports whether Kueue's controller has to wait for the changed job.
func (q *quotas) look(ctx context.Context, j *trainingJob) (wrote bool, err error) {
	var all kueue.WorkloadList
	if err := q.client.List(ctx, &all, client.InNamespace(j.Namespace), jobframework.OwnerReferenceIndexFieldMatcher(gvk, j.Name)); err != nil {
		return false, fmt.Errorf("listing the Workloads of job %s: %w", j.Name, err)
	}
	if wrote, err := q.takeBack(ctx, j, all.Items); wrote || err != nil {
		return wrote, err
	}
	if jobframework.QueueName(j) == "" {
		return q.leave(ctx, j, all.Items)
	}
	if wrote, err := q.returnToQueue(ctx, j, all.Items); wrote || err != nil {
		return wrote, err
	}
	if j.Spec.IsDispatched() {
		return q.lookDispatched(ctx, j, all.Items)
	}
	if j.IsActive() { // Kueue gives the quota of a Workload away that is not active
		return q.change(ctx, j, j.correct)
	}
	if err := q.activateAll(ctx, j, all.Items); err != nil {
		return false, err
	}
	return q.change(ctx, j, j.correct)
}

// takeBack suspends a job that a user has paused, and takes back the admission of every suspended job. It pauses a job that a user has
// suspended. The job keeps its quota until its last pod is gone. A paused job then stays out of its queue until the user resumes it.
func (q *quotas) takeBack(ctx context.Context, j *trainingJob, all []kueue.Workload) (wrote bool, err error) {
	isQueued := jobframework.QueueName(j) != ""
	isToBeStopped := isQueued && j.isPaused() && !j.IsSuspended() && !j.isFinished()
	isReplaced := isQueued && j.isReplaced(all)
	isHalfStopped := j.isHalfStopped() && (isQueued || len(all) > 0)
	if !isToBeStopped && !isReplaced && !isHalfStopped {
		return q.change(ctx, j, func() { delete(j.Annotations, v1alpha1.AnnotationQueueResized) }) // kubectl tj resume may have left it
	}
	isByUser, wanted := isReplaced || j.isSuspendedByUser(all), podSetsOf(all)
	if isReplaced { // its templates are the user's
		wanted = nil
	}
	return j.takeBack(ctx, q.client, wanted, func() {
		j.Suspend()
		if isReplaced && !j.Spec.IsDispatched() {
			controllerutil.AddFinalizer(j.Object(), v1alpha1.FinalizerQuota)
		}
		if isByUser {
			metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationQueuePaused, "true")
		}
	})
}

// isHalfStopped reports whether the job is suspended, and its templates still contain the changes of its admission.
func (j *trainingJob) isHalfStopped() bool {
	return j.IsSuspended() && j.isStarted() && !j.isFinished()
}

// isSuspendedByUser reports whether a user has suspended a job that has quota, with no other sign than spec.suspend. What else suspends a job
// restores its templates in the same write, or marks it.
func (j *trainingJob) isSuspendedByUser(all []kueue.Workload) bool {
	return j.isHalfStopped() && !j.isToRequeue() && slices.ContainsFunc(all, func(w kueue.Workload) bool { return workload.IsAdmitted(&w) })
}

// isReplaced reports whether a user has replaced a job that runs by a manifest that suspends it. kubectl replace removes all that the manifest does not
// name: the changes of the admission, and what the adapter keeps in a job whose pods end. Without it, Kueue would start the job again.
func (j *trainingJob) isReplaced(all []kueue.Workload) bool {
	isKept := func(*kueue.Workload) bool {
		return controllerutil.ContainsFinalizer(j.Object(), v1alpha1.FinalizerQuota)
	}
	if j.Spec.IsDispatched() { // it has no finalizer, and its counts are kept if there are any
		_, isCarried := j.Annotations[v1alpha1.AnnotationCarriedStatus]
		isKept = func(w *kueue.Workload) bool {
			return isCarried || j.Status.StartTime == nil || workloadevict.IsEvicted(w)
		}
	}
	return j.IsSuspended() && !j.isStarted() && !j.isFinished() && !j.isPaused() && j.hasPods() &&
		slices.ContainsFunc(all, func(w kueue.Workload) bool { return workload.IsAdmitted(&w) && !isKept(&w) })
}

func (j *trainingJob) isToRequeue() bool {
	_, isToRequeue := j.Annotations[v1alpha1.AnnotationQueueResized]
	return isToRequeue
}

func (j *trainingJob) isPaused() bool {
	_, isPaused := j.Annotations[v1alpha1.AnnotationQueuePaused]
	return isPaused
}

// errPaused keeps a paused job from its start until Kueue has seen that its Workload is not active.
var errPaused = jobframework.UnretryableError("the job is paused")

// podSetsOf returns what the job's templates were before their admission; nil if that is not known.
func podSetsOf(all []kueue.Workload) []podset.PodSetInfo {
	if len(all) != 1 {
		return nil
	}
	return jobframework.GetPodSetsInfoFromWorkload(&all[0])
}

// leave ends the Workloads of a job without a queue, and with them its quota, once the job has no pods.
func (q *quotas) leave(ctx context.Context, j *trainingJob, all []kueue.Workload) (wrote bool, err error) {
	if j.IsActive() && !j.Spec.IsDispatched() {
		return false, nil
	}
	for i := range all {
		if _, err := workload.Delete(ctx, q.client, &all[i]); client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("deleting Workload %s, whose job has left its queue: %w", all[i].Name, err)
		}
	}
	return q.change(ctx, j, func() {
		controllerutil.RemoveFinalizer(j.Object(), v1alpha1.FinalizerQuota)
		delete(j.Annotations, v1alpha1.AnnotationQueueMessage)
		delete(j.Annotations, v1alpha1.AnnotationQueuePaused)
	})
}

// activateAll deactivates the Workloads of a paused job, and activates the Workloads of any other job.
func (q *quotas) activateAll(ctx context.Context, j *trainingJob, all []kueue.Workload) error {
	for i := range all {
		if err := q.activate(ctx, &all[i], !j.isPaused()); err != nil {
			return fmt.Errorf("pausing or resuming Workload %s: %w", all[i].Name, err)
		}
	}
	return nil
}

// activate sets spec.active of a Workload. It activates no Workload that it has not deactivated. One that Kueue has given up it deletes when the
// job is paused: Kueue makes another, and would not queue this one again when it becomes active.
func (q *quotas) activate(ctx context.Context, w *kueue.Workload, active bool) error {
	if !active && !workload.IsActive(w) && workloadevict.IsEvictedDueToDeactivationByKueue(w) {
		_, err := workload.Delete(ctx, q.client, w)
		return client.IgnoreNotFound(err)
	}
	_, isOurs := w.Annotations[annotationDeactivated]
	if workload.IsActive(w) == active || active && !isOurs || !w.DeletionTimestamp.IsZero() {
		return nil
	}
	before := w.DeepCopy()
	w.Spec.Active = ptr.To(active)
	if active {
		delete(w.Annotations, annotationDeactivated)
	} else {
		metav1.SetMetaDataAnnotation(&w.ObjectMeta, annotationDeactivated, "true")
	}
	return client.IgnoreNotFound(q.client.Patch(ctx, w, client.MergeFrom(before)))
}

// change writes what a function changes of the job.
func (q *quotas) change(ctx context.Context, j *trainingJob, change func()) (wrote bool, err error) {
	before := (*v1alpha1.TrainingJob)(j).DeepCopy()
	change()
	return writeChange(ctx, q.client, j, before)
}

// correct gives a partially admitted job its admitted number of workers, where a manifest was applied again. A job holds quota from its start
// until it is stopped and its last pod is gone; it has the finalizer for so long.
func (j *trainingJob) correct() {
	if given, isRequested := j.requestedAgain(); isRequested {
		workers := j.Spec.ReplicaSpecs[v1alpha1.Worker]
		workers.Replicas = &given
		j.Spec.ReplicaSpecs[v1alpha1.Worker] = workers
	}
	switch {
	case j.isFinished(): // Finalize removes it with the Workload's end
	case !j.IsSuspended() && j.isStarted():
		controllerutil.AddFinalizer(j.Object(), v1alpha1.FinalizerQuota)
	case j.IsSuspended() && !j.isStarted() && !j.IsActive():
		controllerutil.RemoveFinalizer(j.Object(), v1alpha1.FinalizerQuota)
	}
}

// Finalize lets a deleted or finished job go. Kueue calls it when the job's Workload has ended.
func (j *trainingJob) Finalize(ctx context.Context, c client.Client) error {
	before := (*v1alpha1.TrainingJob)(j).DeepCopy()
	controllerutil.RemoveFinalizer(j.Object(), v1alpha1.FinalizerQuota)
	_, err := writeChange(ctx, c, j, before)
	return err
}
