// Package operator is one process of the operator in a simulation: the real pass and the real answers of the watches of
// pkg/operator/controller, with the real pkg/operator/cluster and pkg/job/plan, behind a client whose cache lags and whose requests go wrong.
//
//	Process   reconciles one job, crashes, starts again
//	Faults    decides what becomes of each request and read
//	Decision  is the remark that goes with each request: from which job it was decided, and by whom
//
// Decisions, newest first:
//   - A pass forgets what was to wake the process before it: each has to say by itself when to look again. The queue of the real
//     process would remember, and a wake-up that is missing would show now and then only.
//   - A crash is an error from every request after it. What the process remembers is lost when it starts again.
//   - A process that is frozen before a write goes on with it when it thaws, as one that got SIGSTOP would: the world's
//     time passes within the write.
package operator
