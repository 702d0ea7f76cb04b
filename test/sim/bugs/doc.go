// Package bugs shows that the simulator tests anything: each bug of bugs.txt is built into the product by go test -overlay, never
// written into it, and the simulator must find it. That test has the build tag bugs, as it compiles the product anew
// for each: make bugs. That the bugs fit the source is tested always.
package bugs
