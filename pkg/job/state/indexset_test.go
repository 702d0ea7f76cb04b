package state_test

import (
	"strings"
	"testing"

	"github.com/trainingjob/operator/pkg/job/state"
)

func setOf(indexes ...int) *state.IndexSet {
	var s state.IndexSet
	for _, i := range indexes {
		s.Add(i)
	}
	return &s
}

func TestIndexSetAsText(t *testing.T) {
	cases := []struct {
		name string
		set  *state.IndexSet
		want string
	}{
		{"the empty set is the empty text", setOf(), ""},
		{"one index", setOf(5), "5"},
		{"neighbours make an interval", setOf(0, 1), "0-1"},
		{"intervals are sorted", setOf(5, 2, 0, 1, 3), "0-3,5"},
		{"intervals go across machine words", setOf(62, 63, 64, 65, 128), "62-65,128"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.set.String(); got != c.want {
				t.Errorf("text %q, want %q", got, c.want)
			}
		})
	}
}

func TestIndexSetRemembersAndForgets(t *testing.T) {
	s := setOf(0, 63, 64, 9999)
	s.Remove(64)
	s.Remove(500)
	s.Remove(20_000)
	if s.Has(64) || !s.Has(63) || !s.Has(9999) || s.Has(20_000) || s.Len() != 3 || s.String() != "0,63,9999" {
		t.Errorf("after removing: %q of length %d", s.String(), s.Len())
	}
}

func TestContiguousIndexesTakeConstantSpace(t *testing.T) {
	var all state.IndexSet
	counts := state.Counts{}
	for i := range 10_000 {
		all.Add(i)
		counts[i] = 7
	}
	if got := all.String(); got != "0-9999" {
		t.Errorf("10,000 started replicas are written as %d bytes", len(got))
	}
	if got := counts.String(); got != "0-9999:7" {
		t.Errorf("10,000 replicas replaced equally often are written as %d bytes", len(got))
	}
}

func TestTextsThatAreNoMemory(t *testing.T) {
	for _, text := range []string{",", "1,", ",1", "x", "1-", "-1", "1-x", "3-1", "65536", "0-65536", "-5--3", "1:2", " 1", "1 ", "0-9999999999", "99999999999999999999"} {
		if s, err := state.ParseIndexSet(text); err == nil {
			t.Errorf("the index set %q is read as %q", text, s.String())
		}
	}
	for _, text := range []string{"1", "1:", ":1", "1:0", "1:-1", "1:x", "x:1", "3-1:1", "65536:1", "0-3:1,", "1:1:1", "1:99999999999999999999"} {
		if c, err := state.ParseCounts(text); err == nil {
			t.Errorf("the counts %q are read as %q", text, c)
		}
	}
}

func TestCountsAsText(t *testing.T) {
	counts := state.Counts{0: 1, 1: 1, 2: 0, 3: 1, 5: 2}
	if got := counts.String(); got != "0-1:1,3:1,5:2" {
		t.Errorf("counts %q", got)
	}
	if got := (state.Counts{}).String(); got != "" {
		t.Errorf("no counts are written as %q", got)
	}
}

// What can be read can be written and read again, and whatever anybody wrote into a status does no harm.
func FuzzMemoryTexts(f *testing.F) {
	for _, text := range []string{"", "0-3,5", "0-3:1,5:2", "9999", "0-0", "00-01", "+1", "5-2", "1:1,1:2", strings.Repeat("1,", 100), "0-9999,0-9999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := state.ParseIndexSet(text); err == nil {
			again, err := state.ParseIndexSet(s.String())
			if err != nil || again.String() != s.String() || again.Len() != s.Len() {
				t.Errorf("%q is read as %q and that as %q, %v", text, s.String(), again.String(), err)
			}
		}
		if c, err := state.ParseCounts(text); err == nil {
			again, err := state.ParseCounts(c.String())
			if err != nil || again.String() != c.String() {
				t.Errorf("%q is read as %q and that as %q, %v", text, c, again, err)
			}
		}
	})
}
