//go:build bugs

package bugs_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

var (
	some  = flag.Int("bugs.some", 0, "how many bugs to build in; 0 is all")
	drawn = flag.String("bugs.draw", "", "a text, such as a commit, that decides which")
)

// TestBugsAreFound builds the simulator with each bug and wants a violation.
func TestBugsAreFound(t *testing.T) {
	all, found := bugs(t), 0
	if *some > 0 {
		hash := fnv.New64a()
		hash.Write([]byte(*drawn))
		rand.New(rand.NewPCG(hash.Sum64(), 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:min(*some, len(all))]
	}
	for _, b := range all {
		t.Run(b.name(), func(t *testing.T) {
			begin := time.Now()
			what := b.find(t)
			if what == "" {
				t.Errorf("%s: the simulator does not notice", b.shows)
				return
			}
			found++
			t.Logf("found in %v: %s", time.Since(begin).Round(100*time.Millisecond), what)
		})
	}
	fmt.Printf("%d of %d bugs are found\n", found, len(all))
}

// find returns the first violation that the simulator finds in the product with the bug, "" for none.
func (b *bug) find(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "sim.test")
	build := exec.Command("go", "test", "-c", "-overlay", b.overlay(t), "-o", binary, "./test/sim")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile: %v\n%s", b.shows, err, out)
	}
	run := exec.Command(binary, "-test.run", "^("+b.run+")$", "-test.failfast", "-sim.seeds=10000")
	run.Dir = filepath.Join(root, "test/sim")
	out, err := run.CombinedOutput()
	if err == nil {
		return ""
	}
	violation := regexp.MustCompile(`_test\.go:\d+: (\d[\dhm.]*s: .*)`).FindStringSubmatch(string(out))
	if violation == nil {
		t.Fatalf("%s: the simulator ends without a violation: %v\n%.2000s", b.shows, err, out)
	}
	return violation[1]
}

// overlay returns the name of a file for go's -overlay that puts the bug in.
func (b *bug) overlay(t *testing.T) string {
	t.Helper()
	path, source := b.edited(t)
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{changed: []byte(source), overlay: list} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}
