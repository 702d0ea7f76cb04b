// Package state holds what one reconcile may know: the Snapshot, which New makes of what was observed. It is values only, the clock
// included, so every decision made from it can be repeated, tested and simulated.
//
// Its rows are the Replicas: each slot of the job with its life, its pod and the one State that it is in. A rule filters rows; it does not
// look at pods to find out how a replica is.
//
// A slot is a place in the job, (role, index), and its life is (attempt, replacement). A pod belongs to one life of one slot, and its name
// shows which:
//
//	<job>-<role>-<index>             the first life
//	<job>-<role>-<index>-a<A>r<R>    attempt A, replacement R
//
// A pod that restarts in place is of the life in its annotation (Told), once its node shows another process.
package state
