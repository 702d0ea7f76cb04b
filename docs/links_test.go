package docs_test

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

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

// Whoever opens the folder finds every page of it.
func TestEveryPageIsInTheIndex(t *testing.T) {
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	index := page{"README.md", read(t, "README.md")}.links()
	for _, file := range files {
		if file != "README.md" && !slices.ContainsFunc(index, func(l link) bool { return l.target == file }) {
			t.Errorf("README.md does not link to %s", file)
		}
	}
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
