package logs

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A cursor is asked of each line of a reading whether it is new. The kubelet gives lines from a whole second on, so that each further
// reading begins with lines that were read.
func TestCursor(t *testing.T) {
	at := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	cases := []struct {
		name     string
		readings [][]int // the times of the lines, in milliseconds
		from     []int   // from when on each reading asks; -1 for the beginning
		want     []int   // the lines taken
	}{
		{"one reading", [][]int{{0, 1, 2}}, []int{-1}, []int{0, 1, 2}},
		{"nothing new", [][]int{{0, 1, 2}, {0, 1, 2}}, []int{-1, 0}, []int{0, 1, 2}},
		{"more in the same second", [][]int{{0, 500}, {0, 500, 900}}, []int{-1, 0}, []int{0, 500, 900}},
		{"the second is asked for again, not what came before", [][]int{{0, 1500}, {1500, 1600}}, []int{-1, 1000}, []int{0, 1500, 1600}},
		{"several lines of one time, cut among them", [][]int{{7, 7}, {7, 7, 7, 8}}, []int{-1, 0}, []int{7, 7, 7, 8}},
		{"a reading that broke before it came as far", [][]int{{7, 7, 9}, {7}, {7, 7, 9, 9}}, []int{-1, 0, 0}, []int{7, 7, 9, 9}},
		{"the clock goes back", [][]int{{5, 3, 4}}, []int{-1}, []int{5, 3, 4}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var cursor Cursor
			var got []int
			for i, lines := range c.readings {
				if from := cursor.Begin(); c.from[i] >= 0 && !from.Equal(at(c.from[i])) || c.from[i] < 0 && !from.IsZero() {
					t.Errorf("reading %d asks from %v", i, from)
				}
				for _, ms := range lines {
					if cursor.IsNew(at(ms)) {
						got = append(got, ms)
					}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("taken (-want +got):\n%s", diff)
			}
		})
	}
}

// newReader returns a reader of a container that has run twice and ended, 60 lines each, one every 100 ms; lines are named by
// run and number.
func newReader(seed int64, first Options, got *[]string) *reader {
	k := newKubelet(rand.New(rand.NewSource(seed)))
	for run := range 2 {
		k.files = append(k.files, &file{})
		for n := range 60 {
			k.write(epoch.Add(time.Duration(run*6000+n*100)*time.Millisecond), fmt.Sprintf("%d-%d", run, n))
		}
		k.files[run].ended = true
	}
	k.is = Container{Started: true, Ended: true, Restarts: 1}
	return &reader{opener: k, first: first, look: k.look, wants: all, pause: time.Microsecond, position: position{patience: math.MaxInt}, take: func(l Line) bool {
		*got = append(*got, l.Text)
		return true
	}}
}

// names returns the lines of a run from one number on.
func names(run, from int) []string {
	var list []string
	for n := from; n < 60; n++ {
		list = append(list, fmt.Sprintf("%d-%d", run, n))
	}
	return list
}

// With --since nothing older is read, however often the stream breaks and is taken up again; what is newer is read once.
func TestSince(t *testing.T) {
	for seed := range int64(100) {
		var got []string
		r := newReader(seed, Options{Tail: -1, From: epoch.Add(9 * time.Second)}, &got)
		if err := r.follow(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(names(1, 30), got); diff != "" {
			t.Fatalf("seed %d (-written since +read):\n%s", seed, diff)
		}
	}
}

// With --previous the log of the run before is read, from --since on, and nothing of the present one. It is read once: a stream that
// breaks leaves out its end.
func TestPrevious(t *testing.T) {
	complete := 0
	for seed := range int64(100) {
		for from, want := range map[time.Time][]string{{}: names(0, 0), epoch.Add(2 * time.Second): names(0, 20)} {
			var got []string
			err := newReader(seed, Options{Tail: -1, From: from, Previous: true}, &got).once(t.Context())
			switch {
			case err == nil && len(got) == len(want):
				complete++
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("seed %d (-written +read):\n%s", seed, diff)
				}
			case len(got) > len(want), len(got) > 0 && got[0] != want[0]:
				t.Fatalf("seed %d: read %d lines from %s, want %d from %s", seed, len(got), got[0], len(want), want[0])
			}
		}
	}
	if complete < 20 {
		t.Errorf("only %d of 200 readings were complete", complete)
	}
	never := &reader{opener: &kubelet{random: rand.New(rand.NewSource(1)), files: []*file{{}}}, first: Options{Previous: true}, look: func() (Container, <-chan struct{}) {
		return Container{Started: true}, nil
	}}
	if err := never.once(t.Context()); err == nil || errors.Is(err, errUnwanted) {
		t.Errorf("a container that never ran before: %v", err)
	}
}
