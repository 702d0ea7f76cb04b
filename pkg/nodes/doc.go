// Package nodes decides what a job makes of its nodes: which are lost, which are unhealthy, which the job avoids and which it leaves.
//
//	Of            what the operator knows of a node, from its conditions, taints and the configured Signals
//	Lost          its pods count as failed: it has not been ready for long enough, or was deleted
//	Silent        it does not renew its Lease: it counts as lost for jobs whose restarts wait for its pods
//	Unhealthy     a signal is set: pods prefer other nodes, and leave this one if enough other nodes are healthy
//	AvoidedAfter  the avoid list after the incidents of a reconcile: nodes that broke, and nodes on which programs failed twice
//	Departures    the restarts by which replicas leave unhealthy nodes
//	NotPreferred  the nodes to which new pods prefer all others
package nodes
