// Package e2e holds the specs of the operator as its users see it: they submit TrainingJobs to a real API server, break
// them, and read status, pods and Events.
//
// They prove what only an API server and its controllers can break: admission and quota, preconditions, watches, garbage
// collection, rights, the node controller, schedulers, Kueue, and the crash of a real process; and one story of each feature.
// What the operator decides is a scenario of test/sim or a case of a unit test.
//
// The suite runs on any cluster with the operator and 16 fake GPU nodes, which kwok plays with the lab's stages
// (../../lab/stages): specs tell by annotations how pods end. It uses the Kubernetes API alone:
//
//	go test -tags e2e ./test/api/e2e --ginkgo.label-filter='!Volcano && !Coscheduling && !Kueue'   on a running lab (make lab)
//	make e2e                                                                                       on kind (kind/README.md)
//
// Specs labelled gang need the gang scheduler that is their other label: Native, Volcano or Coscheduling; make test-gang has
// them all. The spec labelled bare needs a cluster in which one of them is missing. A cluster other than a lab may lack what
// they need: there they skip themselves and say what it is. On a lab they fail.
//
// Specs labelled lab need LAB_DIR too (the lab's work folder; by default the folder of KUBECONFIG): they read the audit log,
// or stop and kill the operator's process. A lab runs the operator as the service account of test/lab/installation: manifests/base,
// confined, with the rights of every component. A request of its that is denied fails the suite.
//
// Specs labelled promise are what make test runs, one for each thing that users are promised; make test-all runs all specs.
//
// Specs labelled since-1.36 and since-1.37 need what older versions of Kubernetes lack: make test-versions leaves them out there.
//
// Each spec has a namespace of its own, so that they may run side by side (ginkgo -p); those that need the cluster's
// GPUs or its operator for themselves are Serial. What pods do is told to the fake nodes by the annotations
// lab.trainingjob.dev/*, described in test/lab/README.md.
//
//	builder    job_builder_test.go   the job as a sentence
//	submitted  submitted_test.go     what is done to a job that the server has
//	view       view_test.go          what can be seen of it; printed by every expectation that fails
//	history    history_test.go       every version of jobs and pods, from the watch stream
//	ledger     ../../sim/ledger      what must hold of that history, whatever the spec is about
//
// A number such as #2124 in a spec's name is the issue of kubeflow/trainer in which a user met the contrary.
package e2e
