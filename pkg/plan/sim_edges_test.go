package plan_test

import (
	"os"
	"regexp"
	"sync"
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// edge is a step from phase to phase, of the job whose seed is told.
type edge struct{ from, to v1alpha1.Phase }

// walked are the edges that the simulated jobs took, each with the first seed seen.
var walked sync.Map

func (s *sim) walk(was, is *v1alpha1.TrainingJobStatus) {
	step := edge{was.Phase, is.Phase}
	if step.from == "" {
		step.from = "[*]"
	}
	if step.from != step.to && s.guards == allGuards {
		walked.LoadOrStore(step, s.seed)
	}
}

// published returns the graph of phases as docs/states.md draws it.
func published(t *testing.T) map[edge]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	edges := map[edge]bool{}
	for _, line := range regexp.MustCompile(`(?m)^ *([A-Z]\w+|\[\*\]) --> ([A-Z]\w+)`).FindAllStringSubmatch(string(text), -1) {
		edges[edge{v1alpha1.Phase(line[1]), v1alpha1.Phase(line[2])}] = true
	}
	return edges
}

// checkWalked : 11, a job goes from phase to phase only along the published graph.
func checkWalked(t *testing.T) {
	t.Helper()
	graph := published(t)
	walked.Range(func(step, seed any) bool {
		if e := step.(edge); !graph[e] {
			t.Errorf("11 one phase: %s --> %s is not in docs/states.md, seed %d", e.from, e.to, seed)
		}
		return true
	})
}
