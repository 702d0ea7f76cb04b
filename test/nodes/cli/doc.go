// Package cli holds the promises of kubectl tj to a cluster with real nodes: that logs --follow loses no line and repeats none, whatever
// restarts and whatever breaks, and that its exit status is the job's.
//
// It needs the lab of KUBECONFIG and LAB_DIR with real nodes, and the binaries of make kubectl-tj and bin/lab (LAB for another one).
// What the replicas run counts its own steps aloud, so that what is missing or twice shows without asking the program under test.
package cli
