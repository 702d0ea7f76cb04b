package sim_test

import (
	"flag"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	oneSeed = flag.Int64("seed", -1, "replay this seed, with its story")
	seeds   = flag.Int64("sim.seeds", 10000, "how many seeds to run; a twentieth of them with -short")
)

// TestSeeds runs stories of mixed faults, each drawn from its seed.
func TestSeeds(t *testing.T) {
	if *oneSeed >= 0 {
		r, s := newStorm(*oneSeed, func(line string) { t.Log(line) })
		if wrong := s.play(r); wrong != "" {
			t.Error(wrong)
		}
		return
	}
	n := *seeds
	if testing.Short() {
		n /= 20
	}
	begin, known := time.Now(), readKnownOf(t, knownSeeds)
	left, drawn := known.draws(), newDraws()
	wrong := onAllCores(t, n, func(seed int64) (string, *run) {
		if left[seed] && !*renewKnown {
			return "", nil
		}
		r, s := newStorm(seed, nil)
		wrong := s.play(r)
		drawn.add(r, s)
		return wrong, r
	})
	drawn.check(t, n)
	t.Logf("%d seeds, %v, %d go wrong, %d known ones left out", n, time.Since(begin).Round(time.Millisecond), len(wrong), len(left))
	if *renewKnown {
		wrong = known.renew(t, wrong)
	}
	printWrong(t, wrong, "-run 'TestSeeds$' -v -seed=%d")
}

// printWrong fails the test with the first story of each kind of wrong, how many there are, and how to replay it.
func printWrong(t *testing.T, wrong map[int64]string, replay string) {
	byKind := map[string][]int64{}
	for _, seed := range slices.Sorted(maps.Keys(wrong)) {
		kind := kindOfWrong(wrong[seed])
		byKind[kind] = append(byKind[kind], seed)
	}
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		seeds := byKind[kind]
		t.Errorf("%s\n%d such, as %v\nreplay: go test ./test/sim "+replay, wrong[seeds[0]], len(seeds), seeds[:min(5, len(seeds))], seeds[0])
	}
}

// knownSeeds has the seeds that are known to go wrong.
const knownSeeds = "known-seeds.txt"

// TestKnownSeeds plays the seeds that are known to go wrong.
func TestKnownSeeds(t *testing.T) {
	readKnownOf(t, knownSeeds).mustGoWrong(t, func(seed int64) string {
		r, s := newStorm(seed, nil)
		return s.play(r)
	})
}

// isFailFast reports whether the first story that goes wrong is enough (-test.failfast).
func isFailFast() bool { return flag.Lookup("test.failfast").Value.String() == "true" }

// onAllCores plays n stories on all processors and returns what went wrong, by number. It tells of its progress.
func onAllCores(t *testing.T, n int64, play func(int64) (string, *run)) map[int64]string {
	var next, done atomic.Int64
	var mu sync.Mutex
	var group sync.WaitGroup
	wrong := map[int64]string{}
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				w, r := play(i)
				mu.Lock()
				if w != "" {
					wrong[i] = w
				}
				if w != "" && isFailFast() {
					next.Store(n)
				}
				if r != nil {
					walked.add(r, i)
				}
				mu.Unlock()
				if d := done.Add(1); d%10000 == 0 && n > 10000 {
					t.Logf("%d of %d, %d go wrong", d, n, len(wrong))
				}
			}
		})
	}
	group.Wait()
	return wrong
}
