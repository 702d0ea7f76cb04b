package sim_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/invariant"
)

// edges are the steps from phase to phase that the runs took, each with one of the runs that took it.
type edges struct {
	mu  sync.Mutex
	all map[invariant.Edge]string
}

var walked = &edges{all: map[invariant.Edge]string{}}

func (e *edges) add(r *run, name any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for edge := range r.check.Edges {
		if _, known := e.all[edge]; !known {
			e.all[edge] = fmt.Sprint(name)
		}
	}
}

// unpublished returns which edges are missing in the graph of phases as the document draws it.
func (e *edges) unpublished(document string) []string {
	text, err := os.ReadFile(document)
	if err != nil {
		return []string{err.Error()}
	}
	graph := map[invariant.Edge]bool{}
	for _, line := range regexp.MustCompile(`(?m)^ *([A-Z]\w+|\[\*\]) --> ([A-Z]\w+)`).FindAllStringSubmatch(string(text), -1) {
		graph[invariant.Edge{From: v1alpha1.Phase(line[1]), To: v1alpha1.Phase(line[2])}] = true
	}
	var wrong []string
	for edge, run := range e.all {
		if !graph[edge] {
			wrong = append(wrong, fmt.Sprintf("%s --> %s is not in %s: run %s", edge.From, edge.To, document, run))
		}
	}
	slices.Sort(wrong)
	return wrong
}
