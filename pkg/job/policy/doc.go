// Package policy decides what the facts of a Snapshot mean for a job. Judge applies the rules in the order of their list (judge.go), and the first ruling
// wins. Each rule is in the file of its name.
//
// A rule that waits for a checkpoint or for other ranks rules Hold. Then only the breakers can overrule it: success, and the
// deadlines of the whole job.
//
// Three packages provide the facts. pkg/job/failure finds what broke first and what restarts. pkg/job/budget counts the remaining
// restarts and how long each waits. pkg/job/nodes lists the nodes that the job avoids. The Snapshot has one row for each
// replica (state.Replica): whether it is broken, runs or needs a node. Judge adds refunds for earlier incidents and the
// Accounts: everything that the status keeps about restarts.
package policy
