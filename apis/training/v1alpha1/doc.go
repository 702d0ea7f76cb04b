// Package v1alpha1 is the TrainingJob API, group trainingjob.dev, version v1alpha1.
//
// A TrainingJob says which replicas a distributed training run needs. The spec is the user's,
// the status is the operator's; nothing else writes either.
//
// The shape is meant to last: without a webhook no version can be converted into another, so v1beta1 will have this one's shape.
//
// Decisions, newest first:
//   - What the operator must remember is in status.memory and nowhere else, so that its form can change: nobody else may read it.
//     Numbers that people and tools want (replicas, readyReplicas, parked, used) stand beside it.
//   - The status has no enum, pattern or length: an operator that is newer than the CRD, or a word that a kubelet invents, must
//     not make a status that cannot be written. The operator cuts and cleans what others say before it writes it.
//   - A Custom job may have roles of its own, in lower case, so that they cannot be mistaken for those that have a meaning: it
//     names groups of replicas (actor, learner, a second kind of worker) without giving them a part in success or in ranks below
//     the world size. The map stays a map, as .spec.replicaSpecs.Worker.replicas must be the scale subresource's path.
//   - suspend is a pointer: a server-side apply of the Go type must not claim the field that a queue sets.
//   - managedBy takes the operator's own name, so that a tool may always write it.
//   - Seconds are int32 with a Maximum: no arithmetic on them overflows.
//   - One thing has one word: lastFailure, charged, parked, avoided.
//   - status.attempt counts whole-job restarts and therefore starts at 0, as container restart counts do.
//   - replicaSpecs is a map, so that all roles share one pod template schema and the scale
//     subresource has a fixed path (.spec.replicaSpecs.Worker.replicas).
//   - Validation is CEL in the CRD, not a webhook: there is no certificate to renew and nothing to be down.
//
// +kubebuilder:object:generate=true
// +groupName=trainingjob.dev
package v1alpha1
