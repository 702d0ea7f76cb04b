// Package incidents holds the operator to its promises on real nodes: a kubelet, a container runtime and a network of their own, where
// programs run, are killed, run out of memory, and say what they say when they please.
//
//	make test-nodes INCIDENTS=20                                                         a lab of its own: two real nodes, root and Debian or Ubuntu
//	KUBECONFIG=... LAB_DIR=... go test -tags nodes ./test/nodes/incidents -rounds=20     on one that runs (make lab REAL=2)
//	make test-storm RESTARTS=1000                                                        restarts in place with faults in between: half an hour
//
// The program is test/lab/standin/trainer: ranks that step together and exit with 1 when a peer is gone. What a spec knows of a job it
// has from the API server alone; what it breaks, it breaks from outside, with the verbs of bin/lab.
//
// The specs say how often and how fast. Figures are printed, and nothing but counts is asserted of them: the machine is shared.
package incidents
