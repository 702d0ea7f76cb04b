package scale_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets the heap grow as far as the test may: what runs here is mostly the copying of pods.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(memory - memory/8)
	os.Exit(m.Run())
}
