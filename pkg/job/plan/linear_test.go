package plan_test

import (
	"testing"

	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	few, many = 1_000, 6_000
	// moreAllocations is how much more a reconcile may allocate for each replica of a large job than of a small one.
	moreAllocations = 1.2
)

// A reconcile allocates as much for each of many replicas as for each of few, in every state of a job. BenchmarkMake shows the
// time.
func TestAPassAllocatesNoMoreForEachOfManyReplicas(t *testing.T) {
	for i := range moments {
		m := &moments[i]
		t.Run(m.name, func(t *testing.T) {
			ofFew, ofMany := allocationsOf(t, m, few), allocationsOf(t, m, many)
			t.Logf("for each replica: %.3f allocations of %d, %.3f of %d", ofFew, few, ofMany, many)
			if ofMany > moreAllocations*ofFew {
				t.Errorf("%.3f allocations for each of %d replicas, %.3f for each of %d", ofMany, many, ofFew, few)
			}
		})
	}
}

// allocationsOf returns the allocations of a reconcile for each of n replicas.
func allocationsOf(t *testing.T, m *moment, n int) float64 {
	t.Helper()
	s := m.find(t, n)
	return testing.AllocsPerRun(2, func() {
		again, err := state.New(s.Observed)
		if err != nil {
			t.Fatal(err)
		}
		if p := plan.Make(again); !m.isMeant(&p) {
			t.Fatalf("%s: %s", m.name, p)
		}
	}) / float64(n)
}
