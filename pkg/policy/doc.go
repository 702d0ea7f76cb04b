// Package policy decides what the facts of a Snapshot mean for a job. Judge applies the rules in this order, and the first ruling
// wins. A rule may therefore rely on the rules above it: none of them has ruled.
//
//	finished    the job has ended: nothing changes its result
//	suspended   the user suspends the job, or pods of the suspended job still end
//	succeeded   the replicas that decide the job's success have succeeded
//	expired     activeDeadlineSeconds are over
//	failed      replicas broke: they restart, or the job fails
//	requested   a user requests a restart of the whole job
//	scaledIn    replicas are removed: the ranks save a checkpoint first
//	stranded    a replica fits nowhere in the domain of the other replicas
//	late        startupDeadlineSeconds are over and not all replicas run
//	unplaced    scheduling.timeoutSeconds are over and not every pod has a node
//	stalled     rank 0 has not reported in time
//
// A rule that waits for a checkpoint or for other ranks rules Hold. Then only the breakers can overrule it: success, and the
// deadlines of the whole job.
//
// Three packages provide the facts. pkg/failure finds what broke first and what restarts. pkg/budget counts the remaining
// restarts and how long each waits. pkg/nodes lists the nodes that the job avoids. The Snapshot has one row for each
// replica (state.Replica): whether it is broken, runs or needs a node. Judge adds refunds for earlier incidents and the
// Accounts: everything that the status keeps about restarts.
package policy
