// Package scale holds what a job of 65,000 replicas costs, on a virtual clock: the writes of the operator for each pod, its passes, the
// bytes of the status, the Events, and the allocations of a pass. The operator is the real one (test/sim/operator); the cluster is that of
// test/sim/fleet.
//
// The schema lets a job have 10,000 replicas. The jobs here are made beyond it, as what the operator does is to be known before the
// schema's bound is raised.
package scale
