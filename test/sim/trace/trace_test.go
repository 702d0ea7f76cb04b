package trace_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var (
	papers = flag.Bool("trace.papers", false, "play what was published in full, which takes many minutes")
	seed   = flag.Uint64("trace.seed", 1, "the failures are drawn from it")
)

// published is a cluster of which failures were published, played for some days.
type published struct {
	name        string
	nodes, days int
	failures    func(chance *rand.Rand, nodes, days int) []interruption
}

// atRate returns the failures of a cluster that has so many per 1,000 node-days.
func atRate(rate float64) func(*rand.Rand, int, int) []interruption {
	return func(chance *rand.Rand, nodes, days int) []interruption { return ofRate(chance, rate, nodes, days) }
}

func llama3Herd(chance *rand.Rand, _, days int) []interruption { return ofLlama3(chance, days) }

// played are what a test run plays: a day or two of each small cluster, a small part of one in the short form, or everything.
func played() []published {
	if *papers {
		return []published{
			{"Llama 3, 419 interruptions", 2048, 54, llama3Herd},
			{"RSC-1, 6.5 per 1,000 node-days", 1000, 30, atRate(rsc1)}, {"RSC-1, 6.5 per 1,000 node-days", 5000, 3, atRate(rsc1)},
			{"RSC-2, 2.34 per 1,000 node-days", 1000, 30, atRate(rsc2)}, {"RSC-2, 2.34 per 1,000 node-days", 5000, 3, atRate(rsc2)},
		}
	}
	if testing.Short() {
		return []published{{"RSC-1, 6.5 per 1,000 node-days", 128, 4, atRate(rsc1)}}
	}
	return []published{{"Llama 3, a day", 2048, 1, llama3Herd}, {"RSC-1, 6.5 per 1,000 node-days", 1000, 2, atRate(rsc1)}}
}

func inOrder(all []interruption) []interruption {
	slices.SortStableFunc(all, func(a, b interruption) int { return int(a.at - b.at) })
	return all
}

// TestPublishedFailures prints, of each cluster, the part of the time in which the training came further, and where the rest went, with us
// and with stock controllers.
func TestPublishedFailures(t *testing.T) {
	fmt.Println("| failures | nodes | days | interruptions | controller | trained | noticing | restarting | starting | redone |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for _, what := range played() {
		t.Run(fmt.Sprintf("%s, %d nodes", what.name, what.nodes), func(t *testing.T) { play(t, &what) })
	}
}

func play(t *testing.T, what *published) {
	failures := what.failures(rand.New(rand.NewPCG(*seed, 1)), what.nodes, what.days)
	whole := time.Duration(what.days) * 24 * time.Hour
	began := time.Now()
	ours := begin(what.nodes, rand.New(rand.NewPCG(*seed, 2)))
	ours.live(failures, whole)
	t.Logf("played in %v", time.Since(began).Round(time.Second))
	row := func(controller string, s *spent) {
		fmt.Printf("| %s | %d | %d | %d | %s | %.2f %% | %s | %s | %s | %s |\n", what.name, what.nodes, what.days, s.interruptions, controller, 100*s.effective(),
			part(s.noticing, s), part(s.restarting, s), part(s.starting, s), part(s.redone, s))
	}
	row("TrainingJob", &ours.spent)
	for _, timeout := range []time.Duration{givesUp, patient} {
		other := stock(failures, whole, timeout)
		row(fmt.Sprintf("stock, time-out %v", timeout), &other)
		if ours.effective() <= other.effective() {
			t.Errorf("%.4f of the time with us, %.4f with stock controllers", ours.effective(), other.effective())
		}
	}
	status := ours.Status()
	if mischarged := int(status.ChargedRestarts) - ours.charged; mischarged != 0 || ours.Doubled != 0 || ours.OnAvoided != 0 {
		t.Errorf("%d mis-charged, %d ranks alive twice, %d pods on avoided nodes: want none", mischarged, ours.Doubled, ours.OnAvoided)
	}
	if status.Phase != v1alpha1.PhaseRunning && status.Phase != v1alpha1.PhaseRestarting {
		t.Errorf("the job is %s: %s", status.Phase, status.Message)
	}
}

// part is the part of the whole time.
func part(d time.Duration, s *spent) string {
	return fmt.Sprintf("%.2f %%", 100*d.Seconds()/s.whole.Seconds())
}
