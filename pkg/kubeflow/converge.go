package kubeflow

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// converge creates the TrainingJob or applies what has changed in the job. A change that only a suspended TrainingJob may have waits for the
// suspension: suspend goes first.
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
	case want.Spec.IsSuspended() && !child.Spec.IsSuspended():
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`))
		if err := r.client.Patch(ctx, child.DeepCopy(), patch, fieldOwner); err != nil {
			return child, fmt.Errorf("suspending the TrainingJob: %w", err)
		}
		return child, nil
	case child.Annotations[v1alpha1.AnnotationKubeflowSource] == want.Annotations[v1alpha1.AnnotationKubeflowSource] && want.Spec.IsSuspended() == child.Spec.IsSuspended():
		return child, r.resize(ctx, want, child)
	}
	err := r.apply(ctx, want)
	if apierrors.IsInvalid(err) { // the job runs on as it is
		r.warn(job, "ChangeRefused", err.Error())
		return child, nil
	}
	return child, err
}

// resize gives the TrainingJob the pods that the Kubeflow job requests, and Kueue counts. A user can scale the TrainingJob alone. A patch, because
// an applied object does not remove the spares of a user.
func (r *reconciler) resize(ctx context.Context, want, child *v1alpha1.TrainingJob) error {
	changed := map[v1alpha1.Role]any{}
	for role, wanted := range want.Spec.ReplicaSpecs {
		if want.Spec.Replicas(role) != child.Spec.Replicas(role) || spares(wanted) != spares(child.Spec.ReplicaSpecs[role]) {
			changed[role] = map[string]any{"replicas": want.Spec.Replicas(role), "spares": wanted.Spares}
		}
	}
	if len(changed) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"replicaSpecs": changed}})
	if err == nil {
		err = r.client.Patch(ctx, child.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner)
	}
	if err != nil {
		return fmt.Errorf("giving the TrainingJob its number of pods: %w", err)
	}
	return nil
}

func spares(role v1alpha1.ReplicaSpec) int32 { return ptr.Deref(role.Spares, v1alpha1.Spares{}).Count }

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
