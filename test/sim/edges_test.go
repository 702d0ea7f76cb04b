package sim_test

import (
	"fmt"
	"slices"
	"sync"

	"github.com/trainingjob/operator/test/sim/ledger"
)

// edges are the steps from phase to phase that the runs took, each with one of the runs that took it.
type edges struct {
	mu  sync.Mutex
	all map[ledger.Edge]string
}

var walked = &edges{all: map[ledger.Edge]string{}}

func (e *edges) add(r *run, name any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for edge := range r.check.Edges {
		if _, known := e.all[edge]; !known {
			e.all[edge] = fmt.Sprint(name)
		}
	}
}

// unpublished returns which edges are missing in the published graph.
func (e *edges) unpublished() []string {
	var wrong []string
	for edge, run := range e.all {
		if !edge.Published() {
			wrong = append(wrong, fmt.Sprintf("%s --> %s is not in docs/states.md: run %s", edge.From, edge.To, run))
		}
	}
	slices.Sort(wrong)
	return wrong
}
