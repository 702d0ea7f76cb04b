// Package trace lets a collective live through a day of failures on a thousand nodes, on a virtual clock: nodes die by a
// Poisson process, a tenth of them are lemons that die ten times as often, and now and then the program itself crashes.
// The operator is the real one (test/sim/operator) before the API server of test/sim/server.
//
// When a node dies, its peers crash within seconds in half of the cases and hang in the others; the control plane finds the node not
// ready 50 seconds later, as Kubernetes does by default. So most evidence comes late, and what the operator charges to
// the job at first has to be given back.
package trace
