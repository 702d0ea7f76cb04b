package sim_test

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/test/sim/builder"
)

var renewDraws = flag.Bool("draws.renew", false, "have TestSeeds write draws.txt again")

// enoughSeeds is how many seeds draw every kind at least once. Shorter runs are not asked for that.
const enoughSeeds = 3000

// undrawn are the fields of a spec that no storm draws: they shape what pods are made of, or need a part that the world does not have.
var undrawn = []string{
	"elastic.rendezvous.backend", "elastic.rendezvous.conf", "managedBy", "mpi.slotsPerWorker",
	"scheduling.priorityClassName", "scheduling.queue", "scheduling.schedulerName", "scheduling.topology.tier",
}

// draws are how often the storms of a run drew each kind: the sentences of the world, the draws of unkind storms, and the fields of their jobs.
type draws struct {
	mu     sync.Mutex
	counts map[string]int
	fields map[string]bool
}

func newDraws() *draws { return &draws{counts: map[string]int{}, fields: map[string]bool{}} }

// add notes what a storm drew.
func (d *draws) add(r *run, s *storm) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for kind, n := range r.Counts {
		d.counts[kind] += n
	}
	maps.Copy(d.fields, s.fields)
}

// check holds what was drawn against draws.txt, which a draw leaves only by a person's hand, and the fields against the API.
func (d *draws) check(t *testing.T, n int64) {
	kinds := slices.Sorted(maps.Keys(d.counts))
	for _, kind := range kinds {
		t.Logf("%7d  %s", d.counts[kind], kind)
	}
	if *renewDraws {
		if err := os.WriteFile("draws.txt", []byte(strings.Join(kinds, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n < enoughSeeds {
		return
	}
	text, err := os.ReadFile("draws.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(text)), "\n"), kinds); diff != "" {
		t.Errorf("what is drawn (-draws.txt +drawn):\n%s", diff)
	}
	for _, some := range [][]string{namesOf(drawsOfJobs), namesOf(deeds)} {
		for _, name := range some {
			if d.counts[name] == 0 {
				t.Errorf("%q is never drawn", name)
			}
		}
	}
	declared := builder.Fields()
	maps.DeleteFunc(declared, func(path string, _ bool) bool { return d.fields[path] })
	if diff := cmp.Diff(undrawn, slices.Sorted(maps.Keys(declared))); diff != "" {
		t.Errorf("fields that no storm draws (-want +got):\n%s", diff)
	}
}

func namesOf[T any](all []draw[T]) []string {
	var names []string
	for _, d := range all {
		names = append(names, d.name)
	}
	return names
}
