// Package server is a Kubernetes API server in memory, for TrainingJobs, pods, Services, nodes and Kubernetes'
// own PodGroups. The simulator (test/sim) and local runs (pkg/local) use it. Its answers are the same in every run.
// controller-runtime's fake client sets no UID and ignores preconditions, which hides the bugs that a simulation looks for.
//
//	Server   answers requests as the real one does: UIDs, resourceVersions, generations, the status subresource,
//	         preconditions, graceful deletion, finalizers, admission
//	Cache    is a watching client's copy. It lags behind the server, each kind by itself, and never goes backwards
//	Collect  is the garbage collector, Release the controller that lets pod groups go which no pod needs any more
//
// Stored objects are never changed, only replaced, and a reader must not change them either. A Server is not safe for
// concurrent use.
//
// Decisions, newest first:
//   - A request is a value, so that it can be held back, lost or sent twice.
//   - UIDs and resourceVersions come from counters, the time from a clock that is given.
//   - test/api compares its answers with the real API server's.
package server
