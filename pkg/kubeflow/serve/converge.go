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

// Converge creates the TrainingJob, applies what has changed in its parent, or takes back what has changed in the TrainingJob alone. A change
// that only a suspended TrainingJob may have waits for the suspension: suspend goes first.
func (r *Engine) Converge(ctx context.Context, job Parent, child *v1alpha1.TrainingJob, served *Served) (*v1alpha1.TrainingJob, error) {
	want := served.Child
	switch {
	case child == nil:
		if err := r.apply(ctx, want); err != nil {
			return nil, fmt.Errorf("creating the TrainingJob: %w", err)
		}
		r.note(job, served)
		return want, nil
	case job.IsFinished():
		return child, nil
	case served.Refused != nil: // the job runs on as it is
		r.Warn(job, "ChangeRefused", served.Refused.Error())
		return child, r.correct(ctx, served, child)
	case child.Annotations[v1alpha1.AnnotationKubeflowSource] == want.Annotations[v1alpha1.AnnotationKubeflowSource], want.Spec.IsSuspended() && !child.Spec.IsSuspended():
		return child, r.correct(ctx, served, child)
	}
	err := r.apply(ctx, want)
	if apierrors.IsInvalid(err) { // the job runs on as it is
		r.Warn(job, "ChangeRefused", err.Error())
		if !isSameSize(&want.Spec, &child.Spec, true) {
			return child, nil
		}
		return child, r.correct(ctx, served, child)
	}
	return child, err
}

// correct takes back what a user has changed in the TrainingJob alone.
func (r *Engine) correct(ctx context.Context, served *Served, child *v1alpha1.TrainingJob) error {
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
func (r *Engine) adopt(ctx context.Context, served *Served, child *v1alpha1.TrainingJob) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": child.UID, "resourceVersion": child.ResourceVersion, "ownerReferences": served.Child.OwnerReferences,
	}})
	if err != nil {
		return err
	}
	return r.patch(ctx, child, patch)
}

// patch changes the TrainingJob by a JSON merge patch.
func (r *Engine) patch(ctx context.Context, child *v1alpha1.TrainingJob, patch []byte) error {
	if err := r.Client.Patch(ctx, child.DeepCopy(), client.RawPatch(types.MergePatchType, patch), FieldOwner); err != nil {
		return fmt.Errorf("changing the TrainingJob: %w", err)
	}
	return nil
}

// apply applies the TrainingJob.
func (r *Engine) apply(ctx context.Context, child *v1alpha1.TrainingJob) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
	if err != nil {
		return fmt.Errorf("writing the TrainingJob as an object: %w", err)
	}
	unstructured.RemoveNestedField(object, "status")
	unstructured.RemoveNestedField(object, "metadata", "creationTimestamp")
	applied := &unstructured.Unstructured{Object: object}
	if err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), FieldOwner, client.ForceOwnership, client.DisableReadYourWritesConsistency); err != nil {
		return err
	}
	child.UID = applied.GetUID()
	return nil
}
