// Package chaos breaks a real control plane, its nodes and the operator itself while jobs run, and then counts: every
// failure that happened is in the jobs' statuses exactly once, and nothing was run twice.
//
//	make test-chaos                                all of it, a quarter of an hour
//	make test-upgrade                              the specs of upgrades, with an earlier version of the operator
//	go test -short -tags chaos ./test/api/chaos    the short form, which make test-all runs
//
// The suite starts a lab of its own (test/lab) and ends it; it starts and kills the operators by their pids. If a spec fails,
// the lab's folder is kept and named: the logs of all components and operators, the audit log, etcd's data.
//
//	laboratory  the lab: killing its components, compacting etcd, the audit log
//	operator    one process of the operator, under a name of its own for the API server
//	tape        every version of jobs and pods in one total order, read from etcd itself: no API server's death makes a gap
//	ledger      ../../sim/ledger: what must hold at every version
//	account     what happened to the pods of one job, and what its status must therefore count
//	harm        breaks pods at random and remembers what it did
//
// What is done at random comes from one seed, which is printed: --ginkgo.seed repeats it.
package chaos
