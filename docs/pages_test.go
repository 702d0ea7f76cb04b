package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// page is a Markdown file of the repository, without its fenced blocks.
type page struct{ path, text string }

// pages returns what people read: the Markdown files of the top folder, and every Markdown file of the folders below.
func pages(t *testing.T) []page {
	t.Helper()
	files := []string{"../README.md", "../CONTRIBUTING.md", "../SECURITY.md", "../CHANGELOG.md"}
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
