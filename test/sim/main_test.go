package sim_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
)

// TestMain compares, when all runs have ended, the phases that the jobs went through with the published graph.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // each run is small and short, and there are many
	code := m.Run()
	if wrong := walked.unpublished(); code == 0 && len(wrong) > 0 {
		for _, w := range wrong {
			fmt.Println("11 one phase:", w)
		}
		code = 1
	}
	os.Exit(code)
}
