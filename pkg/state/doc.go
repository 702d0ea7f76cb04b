// Package state holds what one reconcile may know: the Snapshot, made by New of what was observed. It is values only, the clock
// included, so that every decision made from it can be repeated, tested and simulated.
//
// Its rows are the Replicas: each slot of the job with its life, its pod and the one State that it is in. A rule filters
// rows; it does not look at pods to find out how a replica is.
//
// A slot is a place in the job, (role, index). A slot's life is (attempt, replacement). A pod belongs to one life of
// one slot and its name says which:
//
//	<job>-<role>-<index>             the first life
//	<job>-<role>-<index>-a<A>r<R>    attempt A, replacement R
//
// A pod that was restarted in place is of the life that it was told last (Told), once its node shows another process.
//
// Decisions, newest first:
//   - That a pod begins a later life in place is read from an annotation of the operator's: its name cannot change. Who may edit it may
//     delete the pod as well.
//   - That most nodes are lost together is doubted here, not where nodes are read: it says what the facts mean.
//   - A pod's identity is read from its name and controller reference, not from labels: nobody can edit a name.
//   - A slot has "started" once its pod was seen running or finished. A pod that goes before that has lost nothing: no incident is made of it. If it
//     had a node, a process of it may have begun, so that the slot gets its next life. Only a pod without a node is made again in the same life.
//   - A success that the watch has shown counts although the pod is gone. If no operator watched, it is lost: a finalizer on each pod would keep it,
//     and would cost a write for each pod that ends.
package state
