// Package suites runs specs of Kubeflow's training operator and of Kueue, unchanged, against the cluster of KUBECONFIG: make test-kubeflow does so
// first with that operator, which shows that the harness is right, and then with ours.
//
// The specs are in the Go modules of that operator and of Kueue. Those that use only the API run here: each package has one suite file, which
// starts an API server and a controller, or waits for Deployments. A copy of the module has another suite file in its place, which does neither.
//
// These specs of Kubeflow's operator do not run, as they call its functions and not the API: those of pkg/controller.v1/common and control, of
// tensorflow other than those that the table names, and of mpi, whose kind is not served.
//
// Of Kueue's specs for these kinds, the specs of test/integration start Kueue's controllers and write the status of the job themselves: they test Kueue
// alone and do not run here. Three of test/e2e have a running operator on one cluster, and run: one for PyTorchJob, one for JAXJob, and one that
// places the ranks of a PyTorchJob. The fourth needs a MultiKueue of several clusters. None evicts or preempts a job, so TestAQueueOfKubeflowJobs does.
package suites
