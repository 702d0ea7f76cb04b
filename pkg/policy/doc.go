// Package policy judges a job: it decides what the facts of a Snapshot mean. Judge calls the rules in this order, and the first ruling wins.
// So a rule may rely on all rules above it not having ruled:
//
//	finished    the job has its verdict: nothing changes it any more
//	suspended   the user suspends the job, or pods of the suspended job still end
//	succeeded   the replicas whose success is the job's have succeeded
//	expired     activeDeadlineSeconds are over
//	failed      replicas broke: they restart, or the job fails
//	requested   a user requests a restart of the whole job
//	scaledIn    replicas are taken away: the ranks save a checkpoint first
//	unhealthy   pods are to leave an unhealthy node
//	stranded    a replica fits nowhere in the domain that others hold
//	late        startupDeadlineSeconds are over and not all replicas run
//	unplaced    scheduling.timeoutSeconds are over and not every pod has a node
//	stalled     the progress Lease was not renewed in time
//
// A rule that waits for a checkpoint or for other ranks rules Hold. Then Judge calls only the breakers: success, and the deadlines of the
// whole job.
//
// The rules get their facts from three packages: pkg/failure finds what broke first and what restarts, pkg/budget counts the remaining
// restarts and how long each waits, and pkg/nodes lists the nodes that the job avoids or leaves. Whether a replica is broken, runs or needs
// a node is in its row of the Snapshot (state.Replica). To the ruling Judge adds refunds for earlier incidents, the workers to park, and
// the Accounts, which are all that the status keeps of restarts.
package policy
