// Package policy judges: it says what the facts of a Snapshot mean. Judge asks the rules in one order and the first
// that has something to say wins, so a rule may rely on all rules above it having had nothing to say. A rule that waits, for a
// checkpoint or for the words of other ranks, has said so: it rules Hold, and only the rules in breakers (success, and the deadlines of the
// whole job) are asked besides:
//
//	finished    the job has its verdict: nothing changes it any more
//	suspended   the user wants it to rest, or its pods have yet to go before it can resume
//	succeeded   those whose success is the job's have succeeded
//	expired     activeDeadlineSeconds are over
//	failed      replicas broke: restart what must be, or fail
//	requested   somebody asks for a restart of the whole job
//	scaledIn    replicas are taken away: the ranks are asked for a checkpoint first
//	ill         pods are to leave a node that says it is ill
//	late        startupDeadlineSeconds are over and not all replicas run
//	unplaced    scheduling.timeoutSeconds are over and not every pod has a node
//	stalled     the progress Lease was not renewed in time
//
// What broke is answered in steps, each a pure function in a file of its own: failures (which replicas), causeOf and the
// user's rules (what kind), scopeOf (what to restart), the budget (whether to), backOff (when). The rest of the verdict follows
// from it: explain corrects earlier incidents whose true cause shows now, avoidedAfter names the nodes to avoid, fit the workers to park. Accounts keeps the books of all that.
//
// Whether a replica is broken, runs or needs a node is not asked here: its row in the snapshot says so (state.Replica).
//
// Decisions, newest first:
//   - Ranks that are well are asked for a checkpoint before they are stopped, by whichever rule stops them (askFirst), and one request is
//     enough for all of them: what was saved for a drain serves the suspension that comes with it. Who does not train is not asked,
//     and a rank that breaks ends the wait, as the others cannot save together any more.
//   - New pods prefer other nodes than avoided ones, and exclude none. To exclude nodes well the operator would have to know what the scheduler,
//     an autoscaler and a queue know; a wrong guess left jobs without any node. The node controller's taints keep pods off lost nodes.
//   - A job leaves an unhealthy node only if there are as many other nodes as its role takes up, a plain count. Else it stays, and the node is listed as
//     avoided, so it is not left while it is: a restart that ends on the same node serves no user.
//   - No rule of recovery.rules is asked about a move: nothing broke. It waits for back-off as losses do, which bounds what a flapping condition can do
//     to a job that goes from one such node to the next.
//   - If the worker at which an elastic collective meets fits nowhere, another one is parked for it: pods are created at once and get
//     nodes in any order, and the others would hold theirs for nothing.
//   - An exit that no budget is left for fails the job at once, although its node's peer may be lost and not known to be for a minute:
//     a rank that is silent because its node is gone looks like one that waits for its peers, and every job that fails for good would
//     be told so a minute late.
//   - A node that is back within seconds was never lost. That it forgot its containers (Unknown) is a loss, but when they ended is not
//     known, so it takes no charge back from a follower that was heard first: an exit of its own a moment earlier would look the same.
//   - A replica whose main container has ended and whose side-car runs on is deleted with its log, as it holds its node's resources.
//   - A plain exit of a collective's rank waits for the others' words, at most two and a half seconds from the second in which it ended:
//     the first rank that is heard is a follower more often than not, and what it says would be acted on for good. That needs no
//     memory, as the exit's own time bounds it; nodes whose clocks are off are not waited for.
//   - A pod that was told to end since is no evidence by a plain exit, as its program may obey so and its clock may be behind.
//   - Judge answers everything at once, so that status, steps and Events of one plan follow from one verdict.
//   - A pod that was told to end did not end by itself, whatever its exit code and the times say: the API server moves the
//     time of a deletion on when the kubelet confirms it, and nodes' clocks differ. Success counts if it was recorded before.
//   - A restart waits for a member that its node is still starting only in an attempt that never ran: that is where slow
//     images restart a job for ever. Once it ran, waiting would only cost time.
//   - Only a node's trouble explains an exit before it, as it shows late; a drain or a deletion says when it happened.
//   - noProgressLimit does not count preemptions: they say nothing about the training.
//   - All failures that narrow scopes do not explain are one incident: with a failure of scope Job the whole job
//     restarts once, the earliest of them is the reason, and the others are its consequences and are not charged.
//   - Kubernetes gives times in whole seconds. Of failures in the same second, a lost pod explains an exit, running out of
//     memory any other exit, a kill an exit code, and a code of its own one that several have. A root that exits as its
//     followers do cannot be told from them.
//   - In a collective a whole-job restart runs succeeded ranks again, because the others cannot meet without
//     them. In every other case a replica that has succeeded never runs again.
//   - An evaluator never fails the job, unless a rule of the user's says so: past its own budget it is left as it failed.
package policy
