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
	playKnown  = flag.Bool("known", false, "play the drills of known.txt: each must still go wrong")
	renewKnown = flag.Bool("known.renew", false, "have TestDrills write known.txt anew, by the sentences of each defect")
)

// known are the defects of the product that drills find: known.txt. The file is to be empty.
type known struct {
	comment string
	defects []defect
}

// defect is one that drills find, with the violations by which it shows.
type defect struct {
	name  string
	shows *regexp.Regexp
	draws []int64
}

func readKnown(t *testing.T) *known {
	t.Helper()
	text, err := os.ReadFile("known.txt")
	if err != nil {
		t.Fatal(err)
	}
	entries := strings.Split(string(text), "\n== ")
	k := &known{comment: strings.TrimSpace(entries[0])}
	for _, entry := range entries[1:] {
		lines := strings.SplitN(strings.TrimSpace(entry), "\n", 3)
		if len(lines) != 3 {
			t.Fatalf("known.txt: %q has not three lines", entry)
		}
		d := defect{name: lines[0], shows: regexp.MustCompile(lines[1])}
		for _, field := range strings.Fields(lines[2]) {
			draw, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				t.Fatalf("known.txt: %s: %v", d.name, err)
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
	if err := os.WriteFile("known.txt", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return unknown
}

// TestKnown plays the drills that are known to go wrong. One that does not is mended: its number leaves the file.
func TestKnown(t *testing.T) {
	k := readKnown(t)
	if !*playKnown {
		return // that the file can be read is what is shown
	}
	for _, d := range k.defects {
		t.Run(strings.ReplaceAll(d.name, " ", "_"), func(t *testing.T) {
			for _, draw := range d.draws {
				r, drill := newDrill(draw, nil)
				if wrong := drill.play(r); !d.shows.MatchString(wrong) {
					t.Errorf("drill %d: %q, which is not the defect: take the number out of known.txt, if it is mended", draw, wrong)
				}
			}
			t.Logf("%d drills show it", len(d.draws))
		})
	}
}
