package kubeflow

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// autoscaler returns the HorizontalPodAutoscaler that the job's elasticPolicy.metrics ask for; nil if none, or while the job is suspended or has
// finished.
func (j *Job) autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	elastic := j.Spec.ElasticPolicy
	if !j.wantsAutoscaler() || j.isSuspended() || j.Status.isFinished() {
		return nil
	}
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Name: j.Name, Namespace: j.Namespace, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, j.kind.GroupVersionKind())},
		},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: GroupVersion.String(), Kind: j.kind.Name, Name: j.Name},
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
