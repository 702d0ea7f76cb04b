// Package plan turns a Snapshot into a Plan: the status to write, the steps to take after it, the Events to emit, the reads to make, and when to reconcile again.
// Make is pure: the same Snapshot gives the same Plan.
//
//  1. Judge: pkg/job/policy decides whether the job rests, ends, restarts or continues.
//  2. Status: what was observed and decided. A restart is only a number in it.
//  3. Steps, from the recorded status: pods of past lives go, missing pods of the present life come.
//
// An operator may crash anywhere, because a plan that changes a life, a suspension or a verdict has no steps. Its status is written with
// the resourceVersion that was read, and the next plan takes the steps that follow from it.
//
// The fence keeps an old rank from writing what a new one reads. The next life of a slot begins when its former pod can no longer act; an
// attempt begins when no pod of an earlier attempt can. A pod can no longer act when it has finished or is gone, or when its node is lost
// and the pod was taken out of the Service:
//
//	node lost ── status: next life ── FencePod, DeletePod ── CreatePod ... 30 s later DeletePod by force
package plan
