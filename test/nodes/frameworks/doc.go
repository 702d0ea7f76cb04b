// Package frameworks trains the programs of examples/ on the real nodes of a lab, breaks them in the middle, and looks whether
// they end as well as without the fault. make test-frameworks runs it; it needs root, Debian or Ubuntu, and three hours or more.
//
//	examples_test.go     the programs: whom faults hit, what must be restarted then, how good the model must be
//	faults_test.go       the faults, and what the job's status must say about each
//	run_test.go          one run of a program: submit, break, expect
//	tape_test.go         what was seen of a run, with times: pods, status and logs
//	attribution_test.go  whom the status blames when four ranks fail at once, by the ways of ways_test.go
//	nodeloss_test.go     which node the status blames when one dies, although ranks on the other fail first
//	device_test.go       a device plug-in without hardware, whose devices break
//	hang_test.go         which rank the stacks name when one hangs
//	ask_test.go          what a suspension costs whom it asks for a checkpoint first, and whom it does not
//	inplace_test.go      restarts in place: who can go on in its pod, and does
//	figures_test.go      which faults each program went through, and how long each phase took: tables in Markdown, at the end
package frameworks
