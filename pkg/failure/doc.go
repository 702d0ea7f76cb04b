// Package failure answers what broke in a job, who was first, and what a restart for it has to cover. It reads a Snapshot and counts
// nothing: budgets are in pkg/budget, and whether the job restarts is a rule of pkg/policy.
//
//	Find           the replicas that broke, the one that the others followed first (root.go)
//	causeOf        what kind of failure it is: a loss, the program's own exit, out of memory, a failed start, or none (cause.go)
//	EndedAlike     the other ranks whose logs may tell more (words.go)
//	Hint           where to look if the kubelet may have ended the program (kubelet.go)
//	recovery.rules what the user says about it instead (rules.go)
//	ScopeOf        what restarts with the replica: nothing else, its role or the whole job (scope.go)
//	Restarts       the failures as restarts: one of scope Job covers all others
//	Explain        earlier incidents whose true cause shows only now (evidence.go)
//
// An Incident is one restart with its failure, or with what is none: a request, or a program that is done and runs again. A failure is a loss if the pod was taken away, and an exit if its program ended. A loss
// explains an exit that follows it. The evidence of a lost node shows up to recovery.incidentWindowSeconds later.
//
// Decisions, newest first:
//   - A node that is back within seconds was never lost. That it forgot its containers (Unknown) is a loss, but when they ended is not
//     known. So it takes no charge back from a follower that was heard first: an exit of its own a moment earlier would look the same.
//   - A pod that was told to end since is no evidence by a plain exit, as its program may obey so and its clock may be behind.
//   - A pod that was told to end did not end by itself, whatever its exit code and the times say: the API server moves the
//     time of a deletion on when the kubelet confirms it, and nodes' clocks differ. Success counts if it was recorded before.
//   - Only a node's trouble explains an exit before it, as it shows late; a drain or a deletion says when it happened.
//   - All failures that narrow scopes do not explain are one incident: with a failure of scope Job the whole job
//     restarts once, the earliest of them is the reason, and the others are its consequences and are not charged.
//   - Kubernetes gives times in whole seconds. Of failures in the same second, a lost pod explains an exit, running out of
//     memory any other exit, a kill an exit code, and a code of its own one that several have. Of programs that exit alike, one whose last
//     words speak of a lost connection followed another. A root that leaves the same words cannot be distinguished.
package failure
