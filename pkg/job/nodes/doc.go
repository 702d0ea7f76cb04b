// Package nodes decides what a job makes of its nodes: which are lost, which are unhealthy and which the job avoids.
//
//	Of            what the operator knows of a node, from its conditions, taints and the configured Signals
//	Lost          its pods count as failed: it has not been ready for long enough, or was deleted
//	Silent        it does not renew its Lease: it counts as lost for jobs whose restarts wait for its pods
//	Unhealthy     a signal is set: new pods prefer other nodes
//	Blamed        what counts against nodes after the incidents of a reconcile, and the avoid list: nodes that broke, and nodes on which programs failed twice
//	Excluded      the nodes that new pods exclude
//	NotPreferred  the nodes to which new pods prefer all others
package nodes
