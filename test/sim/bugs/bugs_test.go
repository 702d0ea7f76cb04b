package bugs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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

// name is what comes before the colon.
func (b *bug) name() string {
	name, _, _ := strings.Cut(b.shows, ":")
	return name
}

// edited returns the path of the file, and its source with the bug in it. The test fails if the bug does not fit.
func (b *bug) edited(t *testing.T) (path, source string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, b.file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	source = string(text)
	for _, e := range b.edits {
		if n := strings.Count(source, e.old); n != 1 {
			t.Fatalf("the old text of %q occurs %d times in %s, not once: the product has moved, move the entry in test/sim/bugs/bugs.txt\n%s", b.shows, n, b.file, e.old)
		}
		source = strings.Replace(source, e.old, e.new, 1)
	}
	return path, source
}

// The text that each bug replaces is in the product, once. make bugs shows that the simulator finds the bugs.
func TestBugsFitTheSource(t *testing.T) {
	for _, b := range bugs(t) {
		t.Run(b.name(), func(t *testing.T) { b.edited(t) })
	}
}
