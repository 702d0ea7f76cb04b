// Package nodes has the tests that need real nodes: root, on Debian or Ubuntu. It boots a lab with two of them (make test-nodes).
//
// First that the lab's real nodes are nodes: pods that run, speak and find each other; that each command of lab node and lab pod does what its
// help says; and that lab down leaves the machine as it was. Then conformance: the same happens to a pod on a real node and to one on
// a fake node, and both must tell the same story, version by version. The operator is tested on fake nodes, so what they say has to be what
// kubelets say.
//
// Last the operator as a container through an outage of the API server (label outage; -outage=45s is a short form).
//
// Where there can be no real nodes the suite fails, with the lab's own sentence: it is never passed over.
package nodes
