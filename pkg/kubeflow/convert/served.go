package convert

// Kind is a kind of Kubeflow job that the operator can serve by a TrainingJob.
type Kind struct {
	// Name is the kind: PyTorchJob.
	Name string
	// ReplicaSpecs is the field of the spec that has the roles: pytorchReplicaSpecs.
	ReplicaSpecs string
}

// ServedKinds returns the kinds that the operator can serve: all of kubeflow.org/v1 except MPIJob.
func ServedKinds() []Kind {
	var served []Kind
	for _, k := range kinds {
		if k.name != "MPIJob" {
			served = append(served, Kind{k.name, k.replicaSpecs})
		}
	}
	return served
}
