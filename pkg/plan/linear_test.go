package plan_test

import (
	"testing"
	"time"

	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	few, many = 1_000, 65_000
	// moreAllocations is by how much more a pass may allocate for each replica of a large job than of a small one.
	moreAllocations = 1.2
	// moreTime is the same for its time, which nobody else on the machine leaves alone. A pass that compares each pod with each takes 65
	// times as long for each.
	moreTime = 16
)

// A pass over many replicas costs each of them what it costs each of few: in every moment of a job's life.
func TestAPassTakesNoMoreForEachOfManyReplicas(t *testing.T) {
	for i := range moments {
		m := &moments[i]
		t.Run(m.name, func(t *testing.T) {
			allocations, took := costs(t, m, few)
			ofMany, tookMany := costs(t, m, many)
			t.Logf("for each replica: %.3f allocations and %.0f ns of %d, %.3f and %.0f ns of %d", allocations, took, few, ofMany, tookMany, many)
			if ofMany > moreAllocations*allocations {
				t.Errorf("%.3f allocations for each of %d replicas, %.3f for each of %d", ofMany, many, allocations, few)
			}
			if tookMany > moreTime*took {
				t.Errorf("%.0f ns for each of %d replicas, %.0f for each of %d", tookMany, many, took, few)
			}
		})
	}
}

// costs returns the allocations and the nanoseconds, of the fastest of some passes, for each of n replicas.
func costs(t *testing.T, m *moment, n int) (allocations, took float64) {
	t.Helper()
	s, best := m.find(t, n), time.Hour
	allocations = testing.AllocsPerRun(2, func() {
		began := time.Now()
		again, err := state.New(s.Observed)
		if err != nil {
			t.Fatal(err)
		}
		p := plan.Make(again)
		best = min(best, time.Since(began))
		if !m.isMeant(&p) {
			t.Fatalf("%s: %s", m.name, p)
		}
	})
	return allocations / float64(n), float64(best.Nanoseconds()) / float64(n)
}
