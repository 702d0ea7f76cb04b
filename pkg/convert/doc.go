// Package convert makes TrainingJobs of the jobs of Kubeflow's training operator v1 (TFJob, PyTorchJob, MPIJob, XGBoostJob,
// PaddleJob, JAXJob) and of the MPI operator (MPIJob v2beta1), and says what is not as it was.
//
//	source ──> fields, which know what nobody has read yet
//	               ├── metadata, roles, runPolicy, what only one kind has ──> TrainingJob
//	               └── what is left ──> notes
//
// Nothing is lost in silence: a value leaves its fields only by being read, and whoever reads one writes it into the job, says in
// a note what became of it, or both. A note has an effect:
//
//	Dropped    the TrainingJob has no counterpart
//	Changed    it has one with another meaning, or another value
//	Added      nothing of the source: a default of its own that is not a TrainingJob's, written out so that it stays in force
//	Kept       a document that is no such job, which Stream passes on as it is
//
// The package is pure: it reads its arguments only, and whether a job is valid is the API server's to say.
//
// Decisions, newest first:
//   - A default of the source that differs from a TrainingJob's is written out: a converted job does what it did. One is not, the
//     missing end of restarts when backoffLimit is not set: a note says so.
//   - Restarts by exit code follow the code of Training Operator 1.9, where each code from 128 on is retried. Its comments say so
//     too; the documentation of TFJob, which restartPolicy ExitCode of a TrainingJob follows, says otherwise of 128, 139 and 255.
//   - scheduleTimeoutSeconds is dropped: it was how long a scheduler tried before it tried again, and would now fail the job.
//   - elasticPolicy.maxRestarts is torchrun's own, so it becomes its variable. recovery.maxRestarts would also be the operator's.
//   - The source is read as a tree of values and not with Kubeflow's types. Their module depends on several others, and what they
//     do not know would be lost in decoding: misspelled fields, and those of older or newer versions. Pod templates are decoded
//     strictly with Kubernetes' own type.
//   - A job that cannot be converted is an error, and Stream then writes nothing: half of a file must not be applied.
package convert
