// Package testbed is what tests and measurements on a cluster share: how they reach it and what they need to begin (cluster.go), what its
// nodes and pods are told (node.go, pod.go), and how they drive a lab by its binary (lab.go), run operators of their own (operator.go) and
// read what the API server was asked (audit.go).
//
// Functions return errors and know no test framework, so specs of Ginkgo, tests of Go's own and commands use them alike. Only progress.go
// is for suites of Ginkgo alone: it tells how far they are.
//
// Decisions, newest first:
//   - Waiting for what the operator does stays with each suite: what it waits for, for how long and what it says when it waits in vain
//     is what the suite is about.
package testbed
