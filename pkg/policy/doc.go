// Package policy judges: it says what the facts of a Snapshot mean. Judge asks the rules in one order and the first
// that has something to say wins, so a rule may rely on all rules above it having had nothing to say:
//
//	finished    the job has its verdict: nothing changes it any more
//	suspended   the user wants it to rest, or its pods have yet to go before it can resume
//	succeeded   those whose success is the job's have succeeded
//	expired     activeDeadlineSeconds are over
//	failed      replicas broke: restart what must be, or fail
//	late        startupDeadlineSeconds are over and not all replicas run
//
// What broke is answered in five steps, each a pure function: failures (which replicas), causeOf (what kind),
// ScopeOf (what to restart), the budget (whether to) and backOff (when).
//
// Decisions, newest first:
//   - All failures that narrow scopes do not explain are one incident: with a failure of scope Job the whole job
//     restarts once, the earliest of them is the reason, and the others are its consequences and are not charged.
//   - Kubernetes gives times in whole seconds. Of failures in the same second, a lost pod explains an exit, and a
//     signal explains an exit code that the restart policy calls permanent; not the other way round.
//   - In a collective a whole-job restart runs succeeded ranks again, because the others cannot meet without
//     them. In every other case a replica that has succeeded never runs again.
//   - An evaluator never fails the job: past its own budget it is left as it failed.
package policy
