// Package world is what a TrainingJob lives in, in a simulation: scheduler, kubelets, nodes, garbage collector and the
// user, each a hand that writes to the API server in memory. Without a source of chance all goes its ordinary way, one step in
// each tick, and a scenario tells what else happens; with one, everything may come early, late or not at all.
//
// Who wrote is in each request's User, so that the checks know what truly happened and who did it.
package world
