// Package bugs shows that the simulator finds bugs. Each bug of bugs.txt is compiled into the simulator by go test -overlay, which leaves
// the source as it is, and the simulator must report a violation. This takes a compilation for each bug, so the test has a
// build tag and runs by make bugs. Another test, which always runs, checks that each bug still fits the source.
package bugs
