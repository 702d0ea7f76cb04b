// Package fleet is a cluster of many nodes in a simulation: a scheduler and kubelets that hear of each change and do what follows from
// it in its time, so that tens of thousands of pods that only run cost nothing. test/sim/world looks at every pod in every moment, and
// leaves more to chance.
//
//	Fleet  the nodes, what runs on them, and what will happen
//	Times  how long things take
//	Live   lets the cluster and one operator live until a time comes
//
// Pods are bound in the order in which they were created, at most so many a second, to the node that they prefer or else the first with
// room. The control plane believes a dead node ready until it has been silent for long enough: pods may be bound to it, and never start.
package fleet
