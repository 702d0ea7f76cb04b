package serve

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// converge creates the TrainingJob, applies what has changed in the Kubeflow job, or takes back what has changed in the TrainingJob alone. A change
// that only a suspended TrainingJob may have waits for the suspension: suspend goes first.
func (r *reconciler) converge(ctx context.Context, job *Job, child *v1alpha1.TrainingJob, served *Served) (*v1alpha1.TrainingJob, error) {
	want := served.Child
	switch {
	case child == nil:
		if err := r.apply(ctx, want); err != nil {
			return nil, fmt.Errorf("creating the TrainingJob: %w", err)
		}
		r.note(job, served)
		return want, nil
	case job.Status.isFinished():
		return child, nil
	case served.Refused != nil: // the job runs on as it is
		r.warn(job, "ChangeRefused", served.Refused.Error())
		return child, r.correct(ctx, served, child)
	case child.Annotations[v1alpha1.AnnotationKubeflowSource] == want.Annotations[v1alpha1.AnnotationKubeflowSource], want.Spec.IsSuspended() && !child.Spec.IsSuspended():
		return child, r.correct(ctx, served, child)
	}
	err := r.apply(ctx, want)
	if apierrors.IsInvalid(err) { // the job runs on as it is
		r.warn(job, "ChangeRefused", err.Error())
		if !isSameSize(&want.Spec, &child.Spec, true) {
			return child, nil
		}
		return child, r.correct(ctx, served, child)
	}
	return child, err
}

// correct takes back what a user has changed in the TrainingJob alone.
func (r *reconciler) correct(ctx context.Context, served *Served, child *v1alpha1.TrainingJob) error {
	patch, err := served.Correction(child)
	if err != nil || patch == nil {
		return err
	}
	return r.patch(ctx, child, patch)
}

// wasLeft reports whether the TrainingJob served an earlier job of this kind and name, which was deleted without it, and trains on. Another one beside it
// would write the same checkpoints.
func (s *Served) wasLeft(child *v1alpha1.TrainingJob) bool {
	return child.Annotations[v1alpha1.AnnotationKubeflowSource] != "" && child.Spec.Framework == s.Child.Spec.Framework && len(child.OwnerReferences) == 0 &&
		child.DeletionTimestamp.IsZero() && !meta.IsStatusConditionTrue(child.Status.Conditions, v1alpha1.ConditionFinished)
}

// adopt makes the job the owner of the TrainingJob, if nothing has changed that since.
func (r *reconciler) adopt(ctx context.Context, served *Served, child *v1alpha1.TrainingJob) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": child.UID, "resourceVersion": child.ResourceVersion, "ownerReferences": served.Child.OwnerReferences,
	}})
	if err != nil {
		return err
	}
	return r.patch(ctx, child, patch)
}

// patch changes the TrainingJob by a JSON merge patch.
func (r *reconciler) patch(ctx context.Context, child *v1alpha1.TrainingJob, patch []byte) error {
	if err := r.client.Patch(ctx, child.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner); err != nil {
		return fmt.Errorf("changing the TrainingJob: %w", err)
	}
	return nil
}

// apply applies the TrainingJob.
func (r *reconciler) apply(ctx context.Context, child *v1alpha1.TrainingJob) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
	if err != nil {
		return fmt.Errorf("writing the TrainingJob as an object: %w", err)
	}
	unstructured.RemoveNestedField(object, "status")
	unstructured.RemoveNestedField(object, "metadata", "creationTimestamp")
	applied := &unstructured.Unstructured{Object: object}
	if err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), fieldOwner, client.ForceOwnership, client.DisableReadYourWritesConsistency); err != nil {
		return err
	}
	child.UID = applied.GetUID()
	return nil
}
