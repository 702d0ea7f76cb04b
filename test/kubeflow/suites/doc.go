// Package suites runs specs of Kubeflow's training operator, unchanged, against the cluster of KUBECONFIG: make test-kubeflow does so first
// with that operator, which shows that the harness is right, and then with ours.
//
// The specs are in the Go module of that operator. Those that use only the API run here: each of its packages has one suite file, which
// starts an API server and the package's controller. A copy of the module has another suite file in its place, which does neither.
//
// These specs do not run, as they call functions of that operator and not the API: the specs of pkg/controller.v1/common and control, of
// tensorflow other than those that the table names, and of mpi, whose kind is not served.
package suites
