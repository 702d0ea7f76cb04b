// Package plan makes of a Snapshot what to do: the status to write, the steps to take after it, the Events to tell and
// when to look again. Make is pure: the same snapshot gives the same plan.
//
//  1. Judge: does the job rest, end, restart or continue, and what follows from that? Nothing else is asked of the policy.
//  2. Status: what was seen and decided. A restart is a number here, nothing else.
//  3. Steps, from the status as it was read: pods of past lives go, missing pods of the present life come.
//
// Why it is safe to crash anywhere: a plan that changes a life, a suspension or a verdict carries no steps. It is
// written with the resourceVersion it was made from, and the steps follow from the status when it is read back.
//
// The fence: a slot's next life begins when its former pod can no longer act, and an attempt begins when no pod
// of an earlier attempt can, so that an old rank never writes what a new one reads. A pod can no longer act when it has
// finished or is gone, or when its node is lost and the pod was taken out of the Service:
//
//	node lost ── status: next life ── FencePod, DeletePod ── CreatePod ... 30 s later DeletePod by force
//
// Decisions, newest first:
//   - The training's step alone is written once a minute: with each renewal of the Lease 2,000 jobs would write 67 statuses a second.
//   - What the ranks are asked is in the status before it is on a pod, so that an operator that crashes in between asks the same. The pods'
//     annotation is a copy, which the steps keep as the status says.
//   - A replica that is created again prefers the node of its life before, and one that has none, or avoids it, is created after those
//     that return, as schedulers place first what came first. Where pods were is in the process's memory alone: a preference is worth
//     no field of the status.
//   - A whole-job restart can keep pods (recovery.restartMethod: InPlace): a pod that is well is told its next life and begins it in place.
//     Whether it has is read from its own process, never from what was written: see state.Told. The fence counts the old process.
//     The leader goes first; if it broke it comes last with all new pods, so that no new rank meets a store of the attempt before.
//   - Only whole-job restarts do: whoever is replaced alone broke, and what broke has no process to start again.
//   - A pod of a life that the job never had stops the job, which says so, although the pod is somebody else's: it might be the job's
//     own and its status be old, restored from a backup, and then a second pod of the same rank would write what the first one writes.
//   - Whoever creates pods of an MPI job asks for its SSH key first, each time: nobody here may read Secrets, so nobody knows
//     whether it is there. That it is there already is as good as made; one that somebody deleted comes back with the next pod.
//   - A pod that does not end on a node that is well stalls the job and is named; it is deleted by force only if the user
//     says after how long, as its processes may then run beside the next ones.
//   - What an earlier job of the same name left on a lost node is deleted by force at once: its job is gone, and it holds the
//     names of this one's pods.
//   - A pod whose containers have all ended is kept for its log as one that has finished, but the next attempt waits for its
//     phase: only that says that nothing of it runs any more.
//   - A plan holds at most 2,000 writes to pods and then asks for another at once, which sees what has become of the pods. A suspension ends
//     a pass anyway. With fewer, 10,000 pods that restart take too many passes, each of which reads all of them.
//   - A step names its pod and does not hold it: Pods builds it when it is written. 10,000 TensorFlow pods, each with the
//     addresses of all, are 4 GB.
//   - A spare holds a place and never becomes a replica in its own pod. That was built and saved 0.2 s, or the time of the
//     init containers where one replica was replaced alone: less than what it cost in every layer.
//   - A spare makes way when the scheduler says that a replica fits nowhere, not before: it then serves every kind of
//     restart alike, and a whole-job restart that has room leaves the spares alone.
//   - A worker that is parked for lack of room gets its next life at once, as one that scaling takes away does.
//   - Any mounted claim counts as writable on one node only: reading access modes would take rights on claims.
//   - The pod behind status.lastFailure is kept for its log until the next incident or the clean-up; other pods of past
//     lives are deleted.
//   - A status in which only progress has changed (ready counts, started replicas) is written at most every
//     three seconds: a hundred starting jobs must not spend on it what their pods need.
//   - A slot that scaling takes away gets its next life at once, so that scaling out again never meets its old pod.
package plan
