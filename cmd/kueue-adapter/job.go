package main

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var gvk = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)

// trainingJob implements Kueue's view of a TrainingJob, and changes its spec for Kueue.
//
// It does not report replicas that have ended for good (JobWithReclaimablePods): a whole-job restart runs all of them again, with quota that
// another job would have by then.
type trainingJob v1alpha1.TrainingJob

var (
	_ jobframework.GenericJob           = (*trainingJob)(nil)
	_ jobframework.JobWithPriorityClass = (*trainingJob)(nil)
	_ jobframework.JobWithSkip          = (*trainingJob)(nil)
	_ jobframework.JobWithCustomStop    = (*trainingJob)(nil)
	_ jobframework.JobWithFinalize      = (*trainingJob)(nil)
)

func newJob() jobframework.GenericJob { return &trainingJob{} }

// Object returns the TrainingJob itself.
func (j *trainingJob) Object() client.Object { return (*v1alpha1.TrainingJob)(j) }

// GVK returns the kind of TrainingJobs.
func (j *trainingJob) GVK() schema.GroupVersionKind { return gvk }

// Skip reports whether Kueue's controller leaves the job alone: another controller runs it, or a user has suspended it since quotas has looked
// at it, or its pods are to end and have not yet. Kueue frees the quota of a suspended or deleted job at once, for example if its Workload is
// deleted or no longer matches.
func (j *trainingJob) Skip(context.Context) bool {
	isDeleted := !j.DeletionTimestamp.IsZero()
	isLeaving := isDeleted && controllerutil.ContainsFinalizer(j.Object(), v1alpha1.FinalizerQuota)
	return j.isForeign() || !isDeleted && j.isHalfStopped() && !j.isToRequeue() || !j.Spec.IsDispatched() && (isLeaving || j.IsSuspended()) && j.IsActive()
}

// isForeign reports whether neither the operator nor MultiKueue runs the job.
func (j *trainingJob) isForeign() bool { return j.Spec.IsManagedElsewhere() && !j.Spec.IsDispatched() }

func (j *trainingJob) isFinished() bool {
	return meta.IsStatusConditionTrue(j.Status.Conditions, v1alpha1.ConditionFinished)
}

// IsSuspended returns spec.suspend.
func (j *trainingJob) IsSuspended() bool { return j.Spec.IsSuspended() }

// Suspend sets spec.suspend.
func (j *trainingJob) Suspend() { j.Spec.Suspend = ptr.To(true) }

// IsActive reports whether the job may have pods. While it may, Kueue gives its quota to no other job.
//
// A status for an older spec was written before the operator saw the suspension: pods may have come since. Where there is no status there are
// no pods, as the operator writes it first. The status of a dispatched job is of the spec in the other cluster.
func (j *trainingJob) IsActive() bool {
	if seen := j.Status.ObservedGeneration; seen != 0 && seen != j.Generation && !j.Spec.IsDispatched() {
		return true
	}
	return j.hasPods()
}

// hasPods reports whether the status counts pods that may run.
func (j *trainingJob) hasPods() bool {
	for _, role := range j.Status.ReplicaStatuses {
		if role.Active > 0 {
			return true
		}
	}
	return false
}

// PodsReady reports whether all replicas run, of an elastic job enough of them. A job that has finished needs no recovery, though pods may
// outlive it.
func (j *trainingJob) PodsReady(context.Context, client.Client) bool {
	conditions := j.Status.Conditions
	return meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionRunning) || meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionSucceeded) || j.isFinished()
}

// Finished returns how the job has ended, once its last pod has: runPolicy.cleanPodPolicy may let pods outlive it.
func (j *trainingJob) Finished(context.Context) (message string, success, finished bool) {
	end := meta.FindStatusCondition(j.Status.Conditions, v1alpha1.ConditionFinished)
	if !j.isFinished() || j.IsActive() {
		return "", false, false
	}
	return end.Message, meta.IsStatusConditionTrue(j.Status.Conditions, v1alpha1.ConditionSucceeded), true
}

// PriorityClass returns the job's priority class, or the class of the first role whose template names one. The label
// kueue.x-k8s.io/priority-class wins over both.
func (j *trainingJob) PriorityClass() string {
	if s := j.Spec.Scheduling; s != nil && s.PriorityClassName != "" {
		return s.PriorityClassName
	}
	for _, role := range j.roles() {
		if class := j.Spec.ReplicaSpecs[role].Template.Spec.PriorityClassName; class != "" {
			return class
		}
	}
	return ""
}
