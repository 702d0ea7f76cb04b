// Package v1alpha1 is the TrainingJob API, group trainingjob.dev, version v1alpha1.
//
// A TrainingJob says which replicas a distributed training run needs. The spec is the user's,
// the status is the operator's; nothing else writes either.
//
// Decisions, newest first:
//   - status.attempt counts whole-job restarts and therefore starts at 0, as container restart counts do.
//   - replicaSpecs is a map, so that all roles share one pod template schema and the scale
//     subresource has a fixed path (.spec.replicaSpecs.Worker.replicas).
//   - Validation is CEL in the CRD, not a webhook: there is no certificate to renew and nothing to be down.
//
// +kubebuilder:object:generate=true
// +groupName=trainingjob.dev
package v1alpha1
