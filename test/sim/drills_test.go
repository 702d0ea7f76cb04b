package sim_test

import (
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	oneDrill = flag.Int64("drill", -1, "replay the drill of this seed, with its story")
	drills   = flag.Int64("sim.drills", 500, "how many drills to play; a tenth of them with -short")
)

// TestDrills plays drills, each drawn from its seed, and prints how often incidents named the truth.
func TestDrills(t *testing.T) {
	if *oneDrill >= 0 {
		r, d := newDrill(*oneDrill, func(line string) { t.Log(line) })
		if wrong := d.play(r); wrong != "" {
			t.Error(wrong)
		}
		return
	}
	n := *drills
	if testing.Short() {
		n /= 10
	}
	begin, named := time.Now(), map[[2]string]score{}
	var mu sync.Mutex
	known := readKnown(t)
	left := known.draws()
	wrong := onAllCores(t, n, func(seed int64) (string, *run) {
		if left[seed] && !*renewKnown {
			return "", nil
		}
		r, d := newDrill(seed, nil)
		wrong := d.play(r)
		mu.Lock()
		defer mu.Unlock()
		for key, s := range d.named {
			named[key] = named[key].plus(s)
		}
		return wrong, r
	})
	t.Logf("%d drills, %v, %d go wrong, %d known ones left out", n, time.Since(begin).Round(time.Millisecond), len(wrong), len(left))
	if *renewKnown {
		wrong = known.renew(t, wrong)
	}
	printWrong(t, wrong, "-run 'TestDrills$' -v -drill=%d")
	printScores(named)
}

var (
	names   = regexp.MustCompile(`\{\{\w+ \d+\} \{\d+ \d+\}\}|\b(j-)?(worker|ps|chief|master|launcher|node|evaluator|board)-[-\w]*|\d+-\d+-\d+ [\d:.]+ \+0000 UTC`)
	numbers = regexp.MustCompile(`\d+`)
	jobKind = regexp.MustCompile(`: (Custom|PyTorch|JAX|XGBoost|TensorFlow|Paddle|MPI)[^:]*: `)
)

// kindOfWrong returns what is wrong without the time, the kind of job and the names.
func kindOfWrong(wrong string) string {
	_, kind, _ := strings.Cut(jobKind.ReplaceAllString(wrong, ": "), ": ")
	number, kind, _ := strings.Cut(kind, " ")
	return number + " " + numbers.ReplaceAllString(names.ReplaceAllString(kind, "X"), "N")
}

// printScores prints how often incidents named a replica with which the fault began, by kind of job and of fault.
func printScores(named map[[2]string]score) {
	byJob, byFault := map[string]score{}, map[string]score{}
	for key, s := range named {
		byJob[key[0]], byFault[key[1]] = byJob[key[0]].plus(s), byFault[key[1]].plus(s)
	}
	for _, table := range []map[string]score{byJob, byFault} {
		fmt.Println("| | faults | named at once | in the end |\n|---|---|---|---|")
		for _, key := range slices.Sorted(maps.Keys(table)) {
			s := table[key]
			fmt.Printf("| %s | %d | %.1f %% | %.1f %% |\n", key, s.faults, 100*float64(s.atOnce)/float64(s.faults), 100*float64(s.late)/float64(s.faults))
		}
	}
}
