package docs_test

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// page is a Markdown file of the repository, without its fenced blocks.
type page struct{ path, text string }

// pages returns what people read: README.md and CONTRIBUTING.md, and every Markdown file of the folders below.
func pages(t *testing.T) []page {
	t.Helper()
	files := []string{"../README.md", "../CONTRIBUTING.md"}
	for _, folder := range []string{".", "../examples", "../manifests", "../sdk", "../test"} {
		err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
			if strings.HasSuffix(path, ".md") && !strings.Contains(path, "testdata") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(files) < 20 {
		t.Fatalf("only %d pages, want at least 20: is the search wrong?", len(files))
	}
	var all []page
	for _, file := range files {
		all = append(all, page{file, fence.ReplaceAllString(read(t, file), "")})
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	fence = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	// inline is [text](target "title"), definition is [name]: target "title", use is [text][name].
	inline     = regexp.MustCompile(`\]\(([^)\s]+)(?: "([^"]+)")?\)`)
	definition = regexp.MustCompile(`(?m)^\[([^\]]+)\]: (\S+)(?: "([^"]+)")?$`)
	use        = regexp.MustCompile(`\]\[([^\]]+)\]`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// link is where a link leads, and what its tooltip says.
type link struct{ target, title string }

func (p page) links() []link {
	var all []link
	for _, found := range inline.FindAllStringSubmatch(p.text, -1) {
		all = append(all, link{found[1], found[2]})
	}
	for _, found := range definition.FindAllStringSubmatch(p.text, -1) {
		all = append(all, link{found[2], found[3]})
	}
	return all
}

// A link to a file leads to one, with its heading if it names one; the tooltip of a link to a test names a spec of it.
func TestLinksLeadSomewhere(t *testing.T) {
	count := 0
	for _, p := range pages(t) {
		for _, l := range p.links() {
			target, err := url.Parse(l.target)
			if err != nil {
				t.Errorf("%s: %s: %v", p.path, l.target, err)
				continue
			}
			if target.Scheme == "" {
				count++
				checkFile(t, p, l, target)
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d links to files, want at least 100: is the search wrong?", count)
	}
}

func checkFile(t *testing.T, p page, l link, target *url.URL) {
	t.Helper()
	file := p.path
	if target.Path != "" {
		file = filepath.Join(filepath.Dir(p.path), target.Path)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("%s links to %s, which is not there", p.path, l.target)
		return
	}
	if target.Fragment != "" && strings.HasSuffix(file, ".md") && !slices.Contains(anchors(read(t, file)), target.Fragment) {
		t.Errorf("%s links to %s, which has no such heading", p.path, l.target)
	}
	if l.title != "" && !strings.Contains(read(t, file), l.title) {
		t.Errorf("%s says that %s has %q, and it has not", p.path, l.target, l.title)
	}
}

// anchors returns the names that GitHub gives the headings of a page.
func anchors(text string) []string {
	var all []string
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, found[1]))
	}
	return all
}

// A link by name has a definition, and a definition is used.
func TestNamedLinksAreDefined(t *testing.T) {
	for _, p := range pages(t) {
		defined, used := map[string]bool{}, map[string]bool{}
		for _, found := range definition.FindAllStringSubmatch(p.text, -1) {
			defined[found[1]] = true
		}
		for _, found := range use.FindAllStringSubmatch(p.text, -1) {
			used[found[1]] = true
		}
		if len(defined) == 0 {
			continue // brackets of code, as in names[0][1]
		}
		for name := range maps.Keys(used) {
			if !defined[name] {
				t.Errorf("%s: the link %s is not defined", p.path, name)
			}
		}
		for name := range maps.Keys(defined) {
			if !used[name] {
				t.Errorf("%s: the link %s is defined and not used", p.path, name)
			}
		}
	}
}

// unproven are the beginnings of cells of the comparison that nothing can be linked for: something is not there, or the cell
// refers to another one.
var unproven = []string{"", "-", "no", "none", "not yet", "by hand", "in pods", "as JobSet", "it alone, by its Job", "stays succeeded, by its Job"}

// Each claim of the comparison rests on a test of ours, a measurement, or a file or issue of the other's at a version.
func TestEachCellOfTheComparisonHasASource(t *testing.T) {
	text := read(t, "comparison.md")
	rows := 0
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || len(cells) != 6 {
			continue
		}
		if rows++; rows == 1 {
			continue // the head
		}
		for i, cell := range cells[1:] {
			words, _, _ := strings.Cut(strings.TrimSpace(cell), ":")
			if !strings.Contains(cell, "](") && !strings.Contains(cell, "][") && !isUnproven(words) {
				t.Errorf("row %q, column %d: %q has no link", strings.TrimSpace(cells[0]), i+1, cell)
			}
		}
	}
	if rows < 25 {
		t.Errorf("%d rows, want at least 25: is the table read wrong?", rows)
	}
	for _, l := range (page{"comparison.md", text}).links() {
		if strings.HasPrefix(l.target, "https://github.com/") && !versioned.MatchString(l.target) {
			t.Errorf("%s is not at a version", l.target)
		}
	}
}

func isUnproven(cell string) bool {
	return slices.ContainsFunc(unproven, func(beginning string) bool {
		return cell == beginning || beginning == "no" && strings.HasPrefix(cell, "no ") || beginning == "in pods" && strings.HasPrefix(cell, "in pods ")
	})
}

// versioned are GitHub's addresses of what does not change: a file or folder at a tag, a release, an issue; or of a project as such.
var versioned = regexp.MustCompile(`^https://github\.com/[^/]+/[^/]+(/(blob|tree|releases/tag)/v\d+\.\d+\.\d+(/.*)?|/issues/\d+)?$`)
