// Package v1alpha1 is the TrainingJob API, group trainingjob.dev, version v1alpha1.
//
// A TrainingJob describes the replicas that a distributed training run needs. The spec belongs to the user, the status to the operator.
//
// The shape is meant to last: without a webhook no version can be converted into another, so v1beta1 will have the shape of this version.
//
// +kubebuilder:object:generate=true
// +groupName=trainingjob.dev
package v1alpha1
