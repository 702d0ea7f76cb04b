// Package state holds the input of one reconcile: the Snapshot, which New builds from the observed objects. It contains only values, the clock
// included, so every decision made from it can be repeated, tested and simulated.
//
// Its rows are the Replicas: each slot of the job with its life, its pod and its State. A rule filters rows; it does not derive the state of
// a replica from pods.
//
// A slot is a place in the job, (role, index), and its life is (attempt, replacement). A pod belongs to one life of one slot, and its name
// shows which:
//
//	<job>-<role>-<index>             the first life
//	<job>-<role>-<index>-a<A>r<R>    attempt A, replacement R
//
// A pod that restarts in place has the life in its annotation (stayOf) once its node shows another process.
package state
