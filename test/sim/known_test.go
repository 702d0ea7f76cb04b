package sim_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	playKnown  = flag.Bool("known", false, "play what known.txt and known-seeds.txt name: each must still go wrong")
	renewKnown = flag.Bool("known.renew", false, "have TestDrills write known.txt, and TestSeeds known-seeds.txt anew, by the sentences of each defect")
)

// known are the defects of the product that drills find: known.txt; or that seeds find: known-seeds.txt. The files are to be empty.
type known struct {
	file    string
	comment string
	defects []defect
}

// defect is one that drills find, with the violations by which it shows.
type defect struct {
	name  string
	shows *regexp.Regexp
	draws []int64
}

func readKnown(t *testing.T) *known { return readKnownOf(t, "known.txt") }

func readKnownOf(t *testing.T, file string) *known {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	entries := strings.Split(string(text), "\n== ")
	k := &known{file: file, comment: strings.TrimSpace(entries[0])}
	for _, entry := range entries[1:] {
		lines := strings.SplitN(strings.TrimSpace(entry), "\n", 3)
		if len(lines) != 3 {
			t.Fatalf("%s: %q has not three lines", file, entry)
		}
		d := defect{name: lines[0], shows: regexp.MustCompile(lines[1])}
		for _, field := range strings.Fields(lines[2]) {
			draw, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				t.Fatalf("%s: %s: %v", file, d.name, err)
			}
			d.draws = append(d.draws, draw)
		}
		k.defects = append(k.defects, d)
	}
	return k
}

// draws returns the seeds of all drills that are known to go wrong.
func (k *known) draws() map[int64]bool {
	all := map[int64]bool{}
	for i := range k.defects {
		for _, draw := range k.defects[i].draws {
			all[draw] = true
		}
	}
	return all
}

// renew writes the file anew, and returns what shows no known defect.
func (k *known) renew(t *testing.T, wrong map[int64]string) map[int64]string {
	t.Helper()
	unknown := map[int64]string{}
	for i := range k.defects {
		k.defects[i].draws = nil
	}
	for seed, violation := range wrong {
		i := slices.IndexFunc(k.defects, func(d defect) bool { return d.shows.MatchString(violation) })
		if i < 0 {
			unknown[seed] = violation
			continue
		}
		k.defects[i].draws = append(k.defects[i].draws, seed)
	}
	text := k.comment + "\n"
	for _, d := range k.defects {
		if slices.Sort(d.draws); len(d.draws) > 0 {
			text += fmt.Sprintf("\n== %s\n%s\n%s\n", d.name, d.shows, strings.Trim(fmt.Sprint(d.draws), "[]"))
		}
	}
	if err := os.WriteFile(k.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return unknown
}

// TestKnown plays the drills that are known to go wrong. One that does not is mended: its number leaves the file.
func TestKnown(t *testing.T) {
	readKnown(t).mustGoWrong(t, func(draw int64) string {
		r, drill := newDrill(draw, nil)
		return drill.play(r)
	})
}

// mustGoWrong plays the draws, if that was asked for. Else it shows that the file can be read.
func (k *known) mustGoWrong(t *testing.T, play func(int64) string) {
	for _, d := range k.defects {
		if !*playKnown {
			return
		}
		t.Run(strings.ReplaceAll(d.name, " ", "_"), func(t *testing.T) {
			for _, draw := range d.draws {
				if wrong := play(draw); !d.shows.MatchString(wrong) {
					t.Errorf("%d: %q, which is not the defect: take the number out of %s, if it is mended", draw, wrong, k.file)
				}
			}
			t.Logf("%d show it", len(d.draws))
		})
	}
}
