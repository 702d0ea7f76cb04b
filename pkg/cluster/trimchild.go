package cluster

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/gang"
	"github.com/trainingjob/operator/pkg/state"
)

// trimChild returns a Service, a Lease or a pod group with only what decisions read. Users may write all of them, and attach a
// megabyte to each. A trimmed object is never written back: the API server gets patches and deletions with the UID.
func trimChild(o any) (any, error) {
	switch child := o.(type) {
	case *corev1.Service:
		return &corev1.Service{ObjectMeta: identity(child)}, nil
	case *coordinationv1.Lease:
		return &coordinationv1.Lease{
			ObjectMeta: identity(child, v1alpha1.AnnotationStep, v1alpha1.AnnotationAttempt, v1alpha1.AnnotationLifeNumber, v1alpha1.AnnotationCheckpoint, v1alpha1.AnnotationSavedFor),
			Spec:       coordinationv1.LeaseSpec{RenewTime: child.Spec.RenewTime},
		}, nil
	}
	if object, isObject := o.(state.Object); isObject {
		return trimGroup(object), nil
	}
	return o, nil
}

// trimGroup trims a pod group. Groups are listed by the label of their job.
func trimGroup(o state.Object) state.Object {
	metadata := identity(o)
	metadata.Labels = only(o.GetLabels(), v1alpha1.LabelJobUID)
	for _, provider := range gang.Providers {
		if trimmed := provider.Trim(o, metadata); trimmed != nil {
			return trimmed
		}
	}
	return o
}
