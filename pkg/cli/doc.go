// Package cli is kubectl's plug-in for TrainingJobs: one file for each verb of kubectl tj. A verb reads from the API server with
// the caller's own rights, lets pkg/cli/story or pkg/plan say what that means, and prints it.
//
// Every error ends the program with one sentence that says what to do instead, and with a status other than 0: 1 for a verb that
// failed, and what the training exited with for one that waits for it.
//
// Decisions, newest first:
//   - A restart is asked for by deleting pods: the operator takes them for lost, charges nobody and counts one restart. An Event says
//     who asked before the first pod goes.
//   - The plug-in has no cache and watches only with --watch and --follow.
package cli
