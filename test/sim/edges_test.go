package sim_test

import (
	"fmt"
	"os"
	"regexp"
	"sync"
	"testing"

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

// published returns the graph of phases as docs/states.md draws it.
func published(t *testing.T) map[invariant.Edge]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	graph := map[invariant.Edge]bool{}
	for _, line := range regexp.MustCompile(`(?m)^ *([A-Z]\w+|\[\*\]) --> ([A-Z]\w+)`).FindAllStringSubmatch(string(text), -1) {
		graph[invariant.Edge{From: v1alpha1.Phase(line[1]), To: v1alpha1.Phase(line[2])}] = true
	}
	return graph
}
