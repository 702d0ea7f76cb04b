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
			tell := func(line string) { t.Log(line) }
			if !testing.Verbose() {
				tell = nil
			}
			r := s.run(nothing{}, tell)
			walked.add(r, t.Name())
			if r.isWrong() {
				t.Errorf("%s\nreplay: go test ./test/sim -run '%s$' -v", r.check.Wrong, t.Name())
			}
		})
	}
	t.Logf("%d runs, %v", len(scenarios), time.Since(begin).Round(time.Millisecond))
}
