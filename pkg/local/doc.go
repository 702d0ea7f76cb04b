// Package local runs a TrainingJob on this machine, without Kubernetes, with the operator's own decisions.
//
//	server     the API server in memory; the simulator has the same
//	manager    the operator's cache and queue on it; reconciles are reconcile.Pass
//	scheduler  a node for each pod
//	kubelet    pods as processes
//
// Run is one loop in one goroutine: it takes an event, then lets scheduler, kubelet and operator act until none of them has anything to do.
package local
