package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/pkg/job/state"
)

// indexes draws few or many indexes, often neighbours.
func indexes() *rapid.Generator[map[int]int] {
	return rapid.Custom(func(t *rapid.T) map[int]int {
		all := map[int]int{}
		for range rapid.IntRange(0, 12).Draw(t, "runs") {
			first, count := rapid.IntRange(0, 9_990).Draw(t, "first"), rapid.IntRange(1, 3).Draw(t, "count")
			for i := range rapid.IntRange(1, 9).Draw(t, "length") {
				all[first+i] = count
			}
		}
		return all
	})
}

func TestIndexSetsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := indexes().Draw(t, "members")
		var s state.IndexSet
		for i := range members {
			s.Add(i)
		}
		again, err := state.ParseIndexSet(s.String())
		if err != nil || again.Len() != len(members) || again.String() != s.String() {
			t.Fatalf("%q is read as %q of length %d, want %d: %v", s.String(), again.String(), again.Len(), len(members), err)
		}
		for i := range members {
			if !again.Has(i) {
				t.Fatalf("%q has lost %d", s.String(), i)
			}
		}
	})
}

func TestCountsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := state.Counts(indexes().Draw(t, "counts"))
		again, err := state.ParseCounts(counts.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(counts, again); diff != "" {
			t.Fatalf("%q (-written +read):\n%s", counts, diff)
		}
	})
}
