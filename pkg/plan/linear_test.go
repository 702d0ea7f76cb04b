package plan_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	few, many = 1_000, 65_000
	// moreAllocations is by how much more a pass may allocate for each replica of a large job than of a small one.
	moreAllocations = 1.2
	// moreTime is the same for its time: many pods do not fit the processor's caches. A pass that compares each pod with each takes 65 times
	// as long for each.
	moreTime = 8
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

// costs returns the allocations and the nanoseconds of CPU time for each of n replicas. Of few replicas it takes as many passes as there
// are more of many, so that both are measured for about as long.
func costs(t *testing.T, m *moment, n int) (allocations, took float64) {
	t.Helper()
	s := m.find(t, n)
	pass := func() {
		again, err := state.New(s.Observed)
		if err != nil {
			t.Fatal(err)
		}
		if p := plan.Make(again); !m.isMeant(&p) {
			t.Fatalf("%s: %s", m.name, p)
		}
	}
	allocations = testing.AllocsPerRun(1, pass)
	began := cpuTime(t)
	for range many / n {
		pass()
	}
	return allocations / float64(n), float64((cpuTime(t) - began).Nanoseconds()) / many
}

// cpuTime returns for how long this program has had a processor: what else runs on the machine does not count.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
