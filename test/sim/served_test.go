package sim_test

import "github.com/trainingjob/operator/apis/training/v1alpha1"

// changeServed is a user who changes a TrainingJob that serves a Kubeflow job, and not the Kubeflow job.
func (s *storm) changeServed(r *run) {
	scale := func(spec *v1alpha1.TrainingJobSpec) {
		workers, n := spec.ReplicaSpecs[v1alpha1.Worker], 1+s.rng.Int32N(5)
		if e := spec.Elastic; e != nil {
			n = e.MinReplicas + s.rng.Int32N(e.MaxReplicas-e.MinReplicas+1)
		}
		workers.Replicas = &n
		spec.ReplicaSpecs[v1alpha1.Worker] = workers
	}
	suspend := func(yes bool) func(*v1alpha1.TrainingJobSpec) {
		return func(spec *v1alpha1.TrainingJobSpec) { spec.Suspend = &yes }
	}
	switch job, kind := r.Job(), s.rng.IntN(8); {
	case job == nil:
	case kind < 2:
		r.EditTrainingJob(suspend(s.rng.IntN(2) == 0))
	case job.Spec.Elastic == nil:
		r.EditTrainingJob(suspend(true))
		r.EditTrainingJob(scale)
		r.EditTrainingJob(suspend(false)) // before the controller of the Kubeflow job looks
	default:
		r.EditTrainingJob(scale)
	}
}
