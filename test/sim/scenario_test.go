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
			r := s.check(t, nothing{})
			if n := r.check.Untold(); n > 0 && r.starts == 0 {
				t.Errorf("the log does not have %d restarts", n)
			}
		})
	}
	t.Logf("%d runs, %v", len(scenarios), time.Since(begin).Round(time.Millisecond))
}
