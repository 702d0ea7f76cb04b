// Package multikueue tests TrainingJobs that MultiKueue runs in other clusters: a manager and two workers, each a lab of its own with Kueue and
// its adapter, and the operator in the workers. The scenarios of Kueue's own specs for external frameworks come first: a job runs where it is
// admitted, the copy lacks the manager's owners, the status comes back, and deletion. Ours follow: restarts, suspension, preemption in a
// worker cluster, and a worker cluster that dies.
//
//	make test-multikueue
package multikueue
