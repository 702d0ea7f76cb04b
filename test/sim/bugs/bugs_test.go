//go:build bugs

package bugs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// root is where the module begins.
const root = "../../.."

// bug is one change of the product's source.
type bug struct {
	shows, file string
	edits       []edit
	// run are the tests of the simulator that are to find it.
	run string
}

type edit struct{ old, new string }

var entry = regexp.MustCompile(`(?ms)^== (.*?)\n(\S+)\n(--\n.*?)^run (\S+)$`)

func bugs(t *testing.T) []bug {
	t.Helper()
	text, err := os.ReadFile("bugs.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []bug
	for _, m := range entry.FindAllStringSubmatch(string(text), -1) {
		b := bug{shows: m[1], file: m[2], run: m[4]}
		for _, block := range strings.Split("\n"+m[3], "\n--\n")[1:] {
			was, is, _ := strings.Cut("\n"+block+"\n", "\n++\n")
			b.edits = append(b.edits, edit{strings.Trim(was, "\n"), strings.Trim(is, "\n")})
		}
		all = append(all, b)
	}
	if want := strings.Count("\n"+string(text), "\n== "); len(all) != want {
		t.Fatalf("bugs.txt has %d entries, of which %d can be read", want, len(all))
	}
	return all
}

// TestBugsAreFound builds the simulator with each bug and wants a violation.
func TestBugsAreFound(t *testing.T) {
	all, found := bugs(t), 0
	for _, b := range all {
		name, _, _ := strings.Cut(b.shows, ":")
		t.Run(name, func(t *testing.T) {
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
	path, err := filepath.Abs(filepath.Join(root, b.file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	source := string(text)
	for _, e := range b.edits {
		if n := strings.Count(source, e.old); n != 1 {
			t.Fatalf("the old text of %q occurs %d times in %s, not once: the product has moved, move the entry in test/sim/bugs/bugs.txt\n%s", b.shows, n, b.file, e.old)
		}
		source = strings.Replace(source, e.old, e.new, 1)
	}
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
