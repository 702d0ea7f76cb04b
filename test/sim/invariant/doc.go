// Package invariant holds what a TrainingJob promises, checked after every write to the API server in memory. The numbers in
// the messages are those of the project's reliability bar:
//
//	 1 identity     2 uniqueness   3 fence       4 no work without cause   5 bounds       6 deletes   7 foreign objects
//	 8 exactly once 9 monotone    10 a verdict is final                   11 one phase   12 verdicts are earned
//	13 success is not lost        14 back-off   15 rendezvous             16 provenance  17 gang     18 no leak
//	19 frugal      20 bounded     21 one writer: 1 to 20 hold with two  22 blame is true
//	23 a verdict needs its price  24 what waits says for what            25 time is the observer's
//	26 served      27 deadlines come
//
// What is right is written down here and in test/sim/ledger from the documents (promise.go), and asked of no code of the product. The
// ledger has the rules that read no more than two versions of a job or two of its pods; here are those that need to know what truly
// happened, who wrote, and what that process had seen.
//
// What truly happened is read from the hands that did it: a kubelet that ends a pod, a user who deletes one. A create of a process
// that leads no more, or that arrives late, is held against the job as that process had read it, as no controller can prevent a
// request that is on its way; the pods that such requests made are not held against the leader.
package invariant
