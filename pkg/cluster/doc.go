// Package cluster is the only package that talks to Kubernetes for a job. It observes (every read, once), records (the status, then
// Events) and acts (does what the steps say). It reads from a cache. Where a stale read could do harm, it does more:
//
//   - Own writes to the job: the manager's client waits until the cache shows them (EnableReadYourWritesConsistency). Own writes to its
//     pods: Observe requests another look until the cache shows them. Own writes to pod groups: it does not wait; pods join a group only
//     in the pass in which the API server confirms it.
//   - The first look at a job in this process compares it and its pods with the API server, because another leader may have written last:
//     with one list of all jobs, and with a read of its own where a doubt is left. So does a look after an own write that the cache has not
//     shown for long.
//   - A pod that ran and is not in the cache counts as lost only if the API server does not have it either.
//   - A node that is not in the cache counts as deleted only if the API server does not have it either.
package cluster
