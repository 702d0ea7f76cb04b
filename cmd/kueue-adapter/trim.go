package main

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// cacheOptions returns the options of a cache that holds what Kueue's controller reads.
func cacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.TrainingJob{}: {Transform: trimJob},
			&kueue.Workload{}:       {Transform: trimWorkload},
		},
	}
}

// trimJob drops what users attach to a job: the values of foreign labels and annotations, and all owner references except the controller's.
// Kueue and the adapter patch jobs only with the difference to what they read, so nothing is lost. The names of annotations stay: a patch
// that removes the only known one would remove the whole map. The spec stays whole, because Kueue compares its templates with the Workload's.
// Of the status it keeps what the adapter reads, and all of it where MultiKueue carries it to the next cluster.
func trimJob(o any) (any, error) {
	job, isJob := o.(*v1alpha1.TrainingJob)
	if !isJob {
		return o, nil
	}
	trimmed := *job
	trimmed.ManagedFields = nil
	trimmed.Labels, trimmed.Annotations = readOf(job.Labels), maps.Clone(job.Annotations)
	for name := range trimmed.Annotations {
		if !isRead(name) {
			trimmed.Annotations[name] = ""
		}
	}
	if carried, isSet := trimmed.Annotations[v1alpha1.AnnotationCarriedStatus]; isSet {
		trimmed.Annotations[v1alpha1.AnnotationCarriedStatus] = state.CutCarried(carried)
	}
	trimmed.OwnerReferences = controllerAlone(job)
	if !job.Spec.IsDispatched() {
		trimmed.Status = readStatus(&job.Status)
	}
	return &trimmed, nil
}

// readStatus returns which conditions are true, which roles have pods, and the progress. A waiting job has none of them.
func readStatus(status *v1alpha1.TrainingJobStatus) v1alpha1.TrainingJobStatus {
	kept := v1alpha1.TrainingJobStatus{ObservedGeneration: status.ObservedGeneration, Progress: status.Progress}
	for _, c := range status.Conditions {
		if c.Status == metav1.ConditionTrue && slices.Contains(readConditions, c.Type) {
			kept.Conditions = append(kept.Conditions, c)
		}
	}
	for role, pods := range status.ReplicaStatuses {
		if pods.Active > 0 {
			if kept.ReplicaStatuses == nil {
				kept.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{}
			}
			kept.ReplicaStatuses[role] = v1alpha1.ReplicaStatus{Active: pods.Active}
		}
	}
	return kept
}

// readConditions are the conditions of a job that the adapter reads.
var readConditions = []string{v1alpha1.ConditionRunning, v1alpha1.ConditionSucceeded, v1alpha1.ConditionFinished}

// trimWorkload keeps no more than the metadata of Workloads that belong to jobs of other kinds. The adapter never writes those. Its own it
// keeps whole, as Kueue updates them whole: what the cache dropped would be deleted.
func trimWorkload(o any) (any, error) {
	workload, isWorkload := o.(*kueue.Workload)
	if !isWorkload {
		return o, nil
	}
	trimmed := *workload
	trimmed.ManagedFields = nil
	if metav1.GetControllerOfNoCopy(workload) == nil || ownerOf(workload) != nil {
		return &trimmed, nil
	}
	trimmed.Spec, trimmed.Status = kueue.WorkloadSpec{}, kueue.WorkloadStatus{}
	trimmed.Labels, trimmed.Annotations = readOf(workload.Labels), readOf(workload.Annotations)
	trimmed.OwnerReferences = controllerAlone(workload)
	return &trimmed, nil
}

// readOf returns the labels or annotations of Kueue and of the operator.
func readOf(texts map[string]string) map[string]string {
	kept := maps.Clone(texts)
	maps.DeleteFunc(kept, func(name, _ string) bool { return !isRead(name) })
	return kept
}

// isRead reports whether a label or an annotation is of Kueue or of the operator.
func isRead(name string) bool {
	domain, _, _ := strings.Cut(name, "/")
	return strings.HasSuffix(domain, "kueue.x-k8s.io") || strings.HasSuffix(domain, v1alpha1.Group)
}

func controllerAlone(o metav1.Object) []metav1.OwnerReference {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return []metav1.OwnerReference{*ref}
	}
	return nil
}
