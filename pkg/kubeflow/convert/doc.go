// Package convert turns the jobs of Kubeflow's training operator v1 (TFJob, PyTorchJob, MPIJob, XGBoostJob, PaddleJob, JAXJob) and of the
// MPI operator (MPIJob v2beta1) into TrainingJobs, and reports what differs.
//
//	source ──> fields, which know what was not read yet
//	               ├── metadata, roles, runPolicy, what only one kind has ──> TrainingJob
//	               └── all other fields ──> notes
//
// Nothing is lost in silence. A value leaves its fields only when the converter reads it; then the converter writes it into the job, notes
// what became of it, or both. A note has an effect:
//
//	Dropped    the TrainingJob has no counterpart
//	Changed    it has one with another meaning, or another value
//	Added      a default of the source that is not a TrainingJob's, written out so that it stays in force
//	Kept       a document that is no such job, which Stream passes on as it is
//
// The package is pure: it reads its arguments only, and leaves it to the API server whether a job is valid.
package convert
