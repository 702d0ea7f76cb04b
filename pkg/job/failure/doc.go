// Package failure finds what broke in a job, which failure came first, and what a restart for it has to cover. It reads a Snapshot and
// counts nothing: pkg/job/budget has the budgets, and a rule of pkg/job/policy decides whether the job restarts.
//
//	Find           the replicas that broke, the first cause first
//	First          the end with which others began, asked before a restart and after it (root.go)
//	endedAt, ...   when it ended, by which clock (clock.go)
//	causeOf        the kind of a failure: a loss, an exit of the program, out of memory, a failed start (cause.go)
//	readTable      the ranks of an agent of torchrun, whose own code shows nothing (torchrun.go)
//	EndedBeside    the other ranks whose logs may explain more (words.go)
//	Hint           where to look if the kubelet may have ended the program (cause.go)
//	recovery.rules the user's own cause or scope instead (restart.go)
//	ScopeOf        what restarts with the replica: nothing else, its role or the whole job (scope.go)
//	Restarts       the failures as restarts: one of scope Job covers all others, and ends of a few seconds are one incident (root.go, together.go)
//	Explain        earlier incidents whose true cause shows only now: another end is the first (evidence.go)
//
// A Restart has one incident with its failure. A requested restart and a completed program that runs again are incidents without a failure.
// A failure is a loss if the pod was taken away, and an exit if its program ended. A loss explains an exit that follows it. The evidence of a lost node shows up to recovery.incidentWindowSeconds later.
package failure
