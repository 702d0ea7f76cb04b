package serve

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// autoscaler returns the HorizontalPodAutoscaler that the job's elasticPolicy.metrics ask for; nil if none, or while the job is suspended or has
// finished.
func (j *Job) autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	elastic := j.Spec.ElasticPolicy
	if !j.wantsAutoscaler() || j.IsSuspended() || j.Status.isFinished() {
		return nil
	}
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Name: j.Name, Namespace: j.Namespace, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, j.kind.GroupVersionKind())},
		},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: v1alpha1.KubeflowVersion, Kind: j.kind.Name, Name: j.Name},
			MinReplicas:    elastic.MinReplicas,
			MaxReplicas:    *elastic.MaxReplicas,
			Metrics:        elastic.Metrics,
		},
	}
}

// wantsAutoscaler reports whether the job has metrics to scale by.
func (j *Job) wantsAutoscaler() bool {
	return j.Spec.ElasticPolicy != nil && len(j.Spec.ElasticPolicy.Metrics) > 0 && j.Spec.ElasticPolicy.MaxReplicas != nil
}

// convergeAutoscaler creates or deletes the job's autoscaler.
func (r *reconciler) convergeAutoscaler(ctx context.Context, job *Job) error {
	if !job.wantsAutoscaler() {
		return nil
	}
	want := job.autoscaler()
	is := &autoscalingv2.HorizontalPodAutoscaler{}
	err := r.Live.Get(ctx, keyOf(job), is)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading the autoscaler: %w", err)
	case err != nil && want != nil:
		if err := r.Client.Create(ctx, want, FieldOwner, client.DisableReadYourWritesConsistency); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the autoscaler: %w", err)
		}
	case err == nil && want == nil && metav1.IsControlledBy(is, job):
		if err := r.Client.Delete(ctx, is, client.DisableReadYourWritesConsistency); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the autoscaler: %w", err)
		}
	}
	return nil
}
