package sim_test

import (
	"testing"
	"time"
)

// TestScenarios plays each scenario as it is.
func TestScenarios(t *testing.T) {
	begin := time.Now()
	for i := range scenarios {
		s := &scenarios[i]
		t.Run(s.name, func(t *testing.T) {
			s.check(t, nothing{})
		})
	}
	t.Logf("%d runs, %v", len(scenarios), time.Since(begin).Round(time.Millisecond))
}
