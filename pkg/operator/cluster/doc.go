// Package cluster is the only package that calls Kubernetes for a job. It observes (the caches, once, and what reads have shown), records
// (the status, then Events), acts (takes the plan's steps) and reads (what the plan wants). It reads from a cache. Where a stale read could do harm, it does more:
//
//   - Own writes to the job: the manager's client waits until the cache shows them (EnableReadYourWritesConsistency). Own writes to its
//     pods: Observe requests another reconcile until the cache shows them. Own writes to pod groups: it does not wait; pods join a group
//     only in the reconcile in which the API server confirms it.
//   - The first reconcile of a job in this process compares the job and its pods with the API server, because another leader may have
//     written last. It uses one list of all jobs, and a read of its own in doubt. So does a reconcile after an own write that the cache has
//     not shown for long.
//   - A pod that ran and is not in the cache counts as lost only if the API server does not have it either. Nothing is planned before that
//     is confirmed (Read).
//   - While a restart waits, a replica is broken or the report of rank 0 is late, pkg/operator/reads lists the Leases of all nodes, beside the
//     reconciles: a node that does not renew its Lease does not hold up a restart.
//   - A node that is not in the cache counts as deleted only if the API server does not have it either.
package cluster
