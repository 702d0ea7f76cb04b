package progress

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

func worker(i int) state.Slot { return state.Slot{Role: v1alpha1.Worker, Index: i} }

// look is what one read of all ranks shows: the step of each worker, and "" or the name of its process if that is another one. -1 is a rank
// that does not answer.
type look struct {
	minute  float64
	steps   []int64
	process string
}

func TestStragglers(t *testing.T) {
	for name, c := range map[string]struct {
		looks []look
		want  []v1alpha1.Straggler
	}{
		"one of four makes half of the steps": {
			[]look{{0, []int64{100, 100, 100, 100}, ""}, {5, []int64{200, 210, 150, 190}, ""}, {10, []int64{300, 310, 200, 290}, ""}},
			[]v1alpha1.Straggler{{Replica: "worker-2", PercentOfMedian: 51}},
		},
		"the slowest come first": {
			[]look{{0, []int64{0, 0, 0, 0, 0}, ""}, {5, []int64{100, 100, 50, 0, 100}, ""}, {10, []int64{200, 200, 100, 0, 200}, ""}},
			[]v1alpha1.Straggler{{Replica: "worker-3"}, {Replica: "worker-2", PercentOfMedian: 50}},
		},
		"ten minutes are not over":    {[]look{{0, []int64{0, 0, 0}, ""}, {5, []int64{90, 10, 90}, ""}, {9.9, []int64{180, 20, 180}, ""}}, nil},
		"slow at first":               {[]look{{0, []int64{0, 0, 0}, ""}, {5, []int64{100, 0, 100}, ""}, {10, []int64{200, 100, 200}, ""}}, nil},
		"slow for five minutes":       {[]look{{0, []int64{0, 0, 0}, ""}, {5, []int64{100, 100, 100}, ""}, {10, []int64{200, 110, 200}, ""}}, nil},
		"just two thirds":             {[]look{{0, []int64{0, 0, 0}, ""}, {5, []int64{90, 60, 90}, ""}, {10, []int64{180, 120, 180}, ""}}, nil},
		"of two neither is slow":      {[]look{{0, []int64{0, 0}, ""}, {5, []int64{90, 10}, ""}, {10, []int64{180, 20}, ""}}, nil},
		"too few steps to compare":    {[]look{{0, []int64{0, 0, 0}, ""}, {5, []int64{5, 2, 5}, ""}, {10, []int64{11, 4, 11}, ""}}, nil},
		"it does not answer now":      {[]look{{0, []int64{0, 0, 0, 0}, ""}, {5, []int64{90, 10, 90, 90}, ""}, {10, []int64{180, -1, 180, 180}, ""}}, nil},
		"it has begun again":          {[]look{{0, []int64{50, 50, 50, 50}, ""}, {5, []int64{150, 20, 150, 150}, ""}, {10, []int64{250, 120, 250, 250}, ""}}, nil},
		"all are new processes":       {[]look{{0, []int64{0, 0, 0}, ""}, {5, []int64{90, 10, 90}, "new"}, {10, []int64{180, 20, 180}, "new"}}, nil},
		"it was slow, and is no more": {[]look{{0, []int64{0, 0, 0}, ""}, {5, []int64{90, 10, 90}, ""}, {10, []int64{180, 20, 180}, ""}, {15, []int64{270, 110, 270}, ""}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var p Pace
			var got []v1alpha1.Straggler
			for _, l := range c.looks {
				at := time.Unix(0, 0).Add(time.Duration(l.minute * float64(time.Minute)))
				for i, step := range l.steps {
					if step >= 0 {
						p.Add(worker(i), l.process, step, at)
					}
				}
				got = p.Stragglers(at)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAJobShowsEightStragglers(t *testing.T) {
	var p Pace
	for minute := range 3 {
		at := time.Unix(0, 0).Add(time.Duration(minute) * 5 * time.Minute)
		for i := range 40 {
			p.Add(worker(i), "", int64(minute*100*min(1, i/15)), at)
		}
	}
	if got := p.Stragglers(time.Unix(600, 0)); len(got) != 8 {
		t.Errorf("%d stragglers, want 8: %v", len(got), got)
	}
}

// Ranks of one speed have no straggler, whatever their steps were at first and however irregular the looks are. One at less than half of the
// speed of the others is found. The oracle is the speeds that the test draws.
func TestPaceFindsTheSlowRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(3, 20).Draw(t, "ranks")
		speed := rapid.IntRange(1, 50).Draw(t, "steps a minute")*2 + 2
		slow := rapid.IntRange(-1, ranks-1).Draw(t, "slow")
		var p Pace
		var at time.Time
		var got []v1alpha1.Straggler
		begin := rapid.SliceOfN(rapid.Int64Range(0, 1e6), ranks, ranks).Draw(t, "first steps")
		for minutes := 0; minutes <= 25; minutes += rapid.IntRange(5, 6).Draw(t, "minutes") {
			at = time.Unix(0, 0).Add(time.Duration(minutes) * time.Minute)
			for i := range ranks {
				made := minutes * speed
				if i == slow {
					made = minutes * speed / 2
				}
				p.Add(worker(i), "", begin[i]+int64(made), at)
			}
			got = p.Stragglers(at)
		}
		var want []string
		if slow >= 0 {
			want = []string{worker(slow).String()}
		}
		var names []string
		for _, s := range got {
			names = append(names, s.Replica)
		}
		if !slices.Equal(names, want) {
			t.Fatalf("stragglers %v, want %v", names, fmt.Sprint(want))
		}
	})
}
