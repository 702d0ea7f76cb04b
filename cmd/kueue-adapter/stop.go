package main

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/podset"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// errPodsEnd ends a reconcile of Kueue that would go on and free the quota of pods that have only begun to end. The job's next status starts
// another.
var errPodsEnd = jobframework.UnretryableError("the job's pods are ending")

// Stop suspends the job and takes back what its admission changed. A finished job cannot be suspended: its quota is free when its pods end.
func (j *trainingJob) Stop(ctx context.Context, c client.Client, wanted []podset.PodSetInfo, _ jobframework.StopReason, _ string) (bool, error) {
	switch {
	case j.isFinished() && j.IsActive():
		return false, errPodsEnd
	case j.IsSuspended(), j.isFinished():
		return false, nil
	}
	wrote, err := j.takeBack(ctx, c, wanted, j.Suspend)
	if err == nil && j.IsActive() && !j.Spec.IsDispatched() {
		err = errPodsEnd
	}
	return wrote, err
}

// takeBack makes a change together with the reversal of the admission. If the API server refuses both together, it makes the change alone, and
// marks the job: the job starts with its present templates when Kueue admits it again.
func (j *trainingJob) takeBack(ctx context.Context, c client.Client, wanted []podset.PodSetInfo, change func()) (wrote bool, err error) {
	before := (*v1alpha1.TrainingJob)(j).DeepCopy()
	j.carry()
	change()
	delete(j.Annotations, v1alpha1.AnnotationQueueResized)
	j.RestorePodSetsInfo(ctx, wanted)
	wrote, err = writeChange(ctx, c, j, before)
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		ctrl.LoggerFrom(ctx).Error(err, "the admission is not taken back")
		*j = trainingJob(*before.DeepCopy())
		j.carry()
		change()
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationQueueResized, "true")
		wrote, err = writeChange(ctx, c, j, before)
	}
	return wrote, err
}

// writeChange writes what has changed in a job since it was read. It writes nothing if nothing has, or if another client has written the job.
func writeChange(ctx context.Context, c client.Client, j *trainingJob, before *v1alpha1.TrainingJob) (wrote bool, err error) {
	if equality.Semantic.DeepEqual(before, j.Object()) {
		return false, nil
	}
	err = c.Patch(ctx, j.Object(), client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return err == nil, err
}

// isStarted reports whether the adapter has started the job and has not stopped it since: an admission has changed the templates.
func (j *trainingJob) isStarted() bool {
	for role := range j.Spec.ReplicaSpecs {
		if j.Spec.ReplicaSpecs[role].Template.Labels[constants.PodSetLabel] != "" {
			return true
		}
	}
	return false
}
