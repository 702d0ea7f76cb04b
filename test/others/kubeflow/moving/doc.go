// Package moving moves users of Kubeflow's training operator to this one and back, on the lab of LAB_DIR: make test-kubeflow starts it with the
// CRDs and rights of that operator, and without any operator. The tests start and end both operators themselves.
//
//	examples    the example jobs of that operator's module, unchanged but for their namespace
//	moving day  jobs of each phase under that operator, its removal by the commands of docs/migrating.md, this operator, and the way back
//	rivals      both operators at once
//	contracts   what clients that cannot run here read of a job and its pods
package moving
