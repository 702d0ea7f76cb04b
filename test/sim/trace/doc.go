// Package trace lets a collective live through failures as large clusters have published them, on a virtual clock, and says which part of
// the time it trained and where the rest went. The operator is the real one (test/sim/operator), the cluster that of test/sim/fleet, with
// the times that docs/benchmarks.md has measured. The same failures are also played as stock controllers would meet them, by rules (stock).
//
//	failures  what was published: how often, and of what
//	training  what the ranks do with the time: start, train, save checkpoints, hang
//	stock     the same failures with a toleration of 300 s, ranks restarted alone, and peers that hang until the collective gives up
//
// When a rank is gone its peers crash within two seconds in half of the cases and hang in the others. The control plane finds a dead node
// not ready after 50 seconds, as Kubernetes does by default. So most evidence comes late, and what the operator charges to the job at first
// has to be given back.
package trace
