// Package frameworks trains the programs of examples/ on the real nodes of a lab, breaks them in the middle, and looks whether
// they end as well as without the fault. make test-frameworks runs it; it needs root, Debian or Ubuntu, and an hour or two.
//
//	examples_test.go  the programs: whom faults hit, what must be restarted then, how good the model must be
//	faults_test.go    the faults, and what the job's status must say about each
//	run_test.go       one run of a program: submit, break, expect
//	tape_test.go      what was seen of a run, with times: pods, status and logs
//	figures_test.go   how long each phase took, as a table at the end
//
// What cannot run on this machine is skipped with its reason, and listed as not run at the end.
package frameworks
