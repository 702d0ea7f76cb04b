// Package cli is kubectl's plug-in for TrainingJobs: one file for each verb of kubectl tj. A verb reads from the API server with the
// caller's own rights, lets pkg/cli/story or pkg/job/plan interpret it, and prints the result.
//
// Every error ends the program with one sentence that names what to do instead, and with a status other than 0: 1 for a verb that failed,
// and the exit code of the training for a verb that waits for it.
package cli
