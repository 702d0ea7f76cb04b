// Package policy judges: it says what the facts of a Snapshot mean. Judge asks the rules in one order and the first
// that rules wins, so a rule may rely on all rules above it not having ruled. A rule that waits for a checkpoint or for other ranks
// rules Hold. Then only the rules in breakers (success, and the deadlines of the
// whole job) are asked besides:
//
//	finished    the job has its verdict: nothing changes it any more
//	suspended   the user wants it to rest, or its pods have yet to go before it can resume
//	succeeded   those whose success is the job's have succeeded
//	expired     activeDeadlineSeconds are over
//	failed      replicas broke: restart what must be, or fail
//	requested   somebody asks for a restart of the whole job
//	scaledIn    replicas are taken away: the ranks are asked for a checkpoint first
//	unhealthy   pods are to leave an unhealthy node
//	late        startupDeadlineSeconds are over and not all replicas run
//	unplaced    scheduling.timeoutSeconds are over and not every pod has a node
//	stalled     the progress Lease was not renewed in time
//
// The rules ask three packages for facts. pkg/failure knows what broke, who was first and what to restart; pkg/budget how many restarts
// are left and how long each waits; pkg/nodes which nodes the job avoids or leaves. Judge adds what follows from the ruling to the verdict:
// earlier incidents whose true cause shows now, the workers to park, and the Accounts, which are all that the status keeps of restarts.
//
// Whether a replica is broken, runs or needs a node is not asked here: its row in the snapshot says so (state.Replica).
//
// Decisions, newest first:
//   - Ranks that are well are asked for a checkpoint before they are stopped, by whichever rule stops them (askFirst), and one request is
//     enough for all of them: what was saved for a drain serves the suspension that comes with it. Who does not train is not asked,
//     and a rank that breaks ends the wait, as the others cannot save together any more.
//   - No rule of recovery.rules is asked about a move: nothing broke. It waits for back-off as losses do, which bounds what a flapping condition can do
//     to a job that goes from one such node to the next.
//   - If the worker at which an elastic collective meets fits nowhere, another one is parked for it: pods are created at once and get
//     nodes in any order, and the others would hold theirs for nothing.
//   - An exit that no budget is left for fails the job at once, although its node's peer may be lost and not known to be for a minute:
//     a rank that is silent because its node is gone looks like one that waits for its peers, and every job that fails for good would
//     be told so a minute late.
//   - A replica whose main container has ended, with any exit code, and whose side-car runs on is deleted with its log, as it holds its node's resources.
//   - After the job's success everything that may end by itself has finishGraceSeconds. Parameter servers and the operator's sshd never end by
//     themselves. TensorFlow's workers that only serve do not either, but no field shows them, so they hold their nodes for that time.
//   - A plain exit of a collective's rank waits for the others' words, at most two and a half seconds from the second in which it ended:
//     the first rank that is heard is a follower more often than not, and what it says would be acted on for good. That needs no
//     memory, as the exit's own time bounds it; nodes whose clocks are off are not waited for.
//   - Judge answers everything at once, so that status, steps and Events of one plan follow from one verdict.
//   - A restart waits for a member that its node is still starting only in an attempt that never ran: that is where slow
//     images restart a job for ever. Once it ran, waiting would only cost time.
//   - noProgressLimit does not count preemptions: they say nothing about the training.
//   - In a collective a whole-job restart runs succeeded ranks again, because the others cannot meet without
//     them. In every other case a replica that has succeeded never runs again.
//   - An evaluator never fails the job, unless a rule of the user's says so: past its own budget it is left as it failed.
package policy
