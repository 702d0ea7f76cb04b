package serve

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// packed is the field of a cached job that holds its JSON, and maxPacked the size in bytes up to which it does. As a tree a job takes 15 times its
// JSON, and its user may write 1.5 MB of it. A job of more is read from the API server in each pass, in its namespace's share of such reads.
const (
	packed    = "packed"
	maxPacked = 32 << 10
)

// isNew is the field of a cached job that shows whether the operator has yet to take it up.
const isNew = "new"

// elsewhere is the field of a cached job that another controller runs: nothing else is kept of it.
const elsewhere = "elsewhere"

// AddToManager has the cache of the manager hold the jobs of the kinds, and its client read them there.
func AddToManager(options *manager.Options, kinds []Kind) {
	for _, kind := range kinds {
		options.Cache.ByObject[kind.empty()] = cache.ByObject{Label: labels.Everything(), Transform: pack}
		options.Client.Cache.Unstructured = true
	}
}

// pack returns what the cache keeps of a job: what names it, and its JSON if that is short.
func pack(o any) (any, error) {
	job, isJob := o.(*unstructured.Unstructured)
	if !isJob {
		return o, nil
	}
	keepWriters(job)
	text, err := job.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("packing %s %s: %w", job.GetKind(), job.GetName(), err)
	}
	kept := &unstructured.Unstructured{Object: map[string]any{}}
	kept.SetGroupVersionKind(job.GroupVersionKind())
	kept.SetNamespace(job.GetNamespace())
	kept.SetName(job.GetName())
	kept.SetUID(job.GetUID())
	kept.SetResourceVersion(job.GetResourceVersion())
	switch {
	case isManagedElsewhere(job):
		kept.Object[elsewhere] = true
	case len(text) <= maxPacked:
		kept.Object[packed] = string(text)
	}
	kept.Object[isNew] = !hasStatus(job)
	return kept, nil
}

// keepWriters keeps only the names and times of the job's managed fields, and of those only the status'.
func keepWriters(job *unstructured.Unstructured) {
	fields := job.GetManagedFields()
	writers := fields[:0]
	for _, entry := range fields {
		if entry.Subresource == "status" {
			entry.FieldsV1 = nil
			writers = append(writers, entry)
		}
	}
	job.SetManagedFields(writers)
}

// hasStatus reports whether the job has a status, or gets it from another controller.
func hasStatus(job *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	counts, _, _ := unstructured.NestedSlice(job.Object, "status", "replicatedJobsStatus") // a JobSet that runs has no condition
	return len(conditions) > 0 || len(counts) > 0 || isManagedElsewhere(job)
}

// isManagedElsewhere reports whether another controller runs the job: a Kubeflow job that names one, or a JobSet that does not name this operator.
func isManagedElsewhere(job *unstructured.Unstructured) bool {
	if job.GetKind() == JobSet.Name {
		manager, _, _ := unstructured.NestedString(job.Object, "spec", "managedBy")
		return manager != v1alpha1.OperatorName
	}
	manager, _, _ := unstructured.NestedString(job.Object, "spec", "runPolicy", "managedBy")
	return !slices.Contains(ownManagers, manager)
}

// New returns the jobs of the kinds that the operator has yet to take up, each as a TrainingJob without a status, for the metrics.
func New(ctx context.Context, cached client.Reader, kinds []Kind) ([]v1alpha1.TrainingJob, error) {
	var jobs []v1alpha1.TrainingJob
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersionKind())
		if err := cached.List(ctx, list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
			return nil, fmt.Errorf("listing %ss: %w", kind.Name, err)
		}
		for i := range list.Items {
			if list.Items[i].Object[isNew] == true {
				job := v1alpha1.TrainingJob{Spec: v1alpha1.TrainingJobSpec{Framework: kind.framework}}
				job.Namespace = list.Items[i].GetNamespace()
				jobs = append(jobs, job)
			}
		}
	}
	return jobs, nil
}

// Read returns the object of a parent, from the cache if that holds it whole; nil if the parent is gone or going, or if another controller runs it.
func (r *Engine) Read(ctx context.Context, key client.ObjectKey) (*unstructured.Unstructured, error) {
	job := r.Kind.empty()
	if err := r.Client.Get(ctx, key, job); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if job.Object[elsewhere] == true {
		return nil, nil
	}
	if text, isPacked := job.Object[packed].(string); isPacked {
		if err := job.UnmarshalJSON([]byte(text)); err != nil {
			return nil, err
		}
	} else if err := r.Live.Get(ctx, key, job); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !job.GetDeletionTimestamp().IsZero() || isManagedElsewhere(job) {
		return nil, nil
	}
	keepWriters(job)
	return job, nil
}
