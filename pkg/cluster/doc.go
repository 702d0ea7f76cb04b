// Package cluster is the only package that talks to Kubernetes for a job. It observes (every read, once), records (the
// status, then Events) and acts (does what the steps say).
//
// Where stale reads could do harm:
//
//   - Own writes to the job: the manager's client waits until the cache shows them (EnableReadYourWritesConsistency).
//     Own writes to its pods: Observe asks for another look until the cache shows them. To pod groups: nobody waits, see below.
//
//   - The first look at a job in this process compares it and its pods with the API server, as another leader may have
//     written last: with one list of all jobs, or with a read of its own if that leaves a doubt. So does a look after an own write that
//     the cache has not shown for long.
//
//   - A pod that ran and is not in the cache is asked for by name before it counts as lost.
//
//   - Pods join a pod group in the pass that makes it, or sets its minimum, with the API server's word that it is there.
//
//   - A node that is not in the cache counts as deleted only if the API server says so too.
//
// Decisions, newest first:
//   - The cache keeps of each kind only what decisions read. Nothing is ever written back from it but a job's status: the API server takes
//     no metadata with that. Initial lists are streamed (client-go's WatchListClient, on by default, and Kubernetes 1.34 or newer), and
//     each object is trimmed before the next is decoded. A list decoded whole would need 2 GB for 2,000 objects of 1 MB.
//   - An answer of the API server about a pod that the cache lacks counts for 30 s, or until the watch or an own write changes it.
//   - Which pods a job waits for is noted with each look at it, and what the watch says of them is taken off: the job is looked at again at
//     once when the last is there, and not four times a second until then. The note is a guess. Where it is wrong a look comes early or
//     some seconds late; decisions are made from what is read.
//   - A pass of many writes ends when the cache shows that the job has been suspended, changed or deleted meanwhile.
//   - Of a pod that is gone the watch's last word is kept until the job has counted it: a pod on a tainted node can be deleted and gone
//     before the cache shows the taint, and what is told of its loss should not depend on which watch was faster. It is kept in memory
//     only; after a crash such a pod has vanished without a trace.
//   - Live lists are read in pages of 20: users may attach a megabyte to the metadata of each pod. Pages of 500 took 900 MB at a take-over.
//   - Equal pod templates of cached jobs are held once: 1,000 jobs of a sweep with a script of 100 kB each take 3 MB, not 200.
//     Templates that differ are all held, as decisions read them; a quota on the number of jobs is what limits those.
//   - How often spares failed in a row is kept in memory only. After a crash the wait begins with 5 s again.
//   - A refusal of a spare is kept apart and tried again after longer waits: the job needs none of them to go on.
//   - One namespace holds a quarter of the slots for writes at most, even when nobody else waits: writes that hang for the 30 s
//     of a webhook cannot be called back when somebody comes.
//   - The first error of a pass ends no write that is under way: one that is given up may be done all the same.
//   - While most nodes are not ready none counts as lost: then it is the control plane that has lost touch.
//   - A pod is fenced by taking its job-name label away, which the Service selects by: one patch with its UID, and no
//     further object. It keeps the label that the cache selects by.
//   - What the API server refused is kept in memory only. After a crash the operator asks once more, that is all.
//   - Pods are cached without their specs: node name, conditions and container states are all that a decision needs.
package cluster
