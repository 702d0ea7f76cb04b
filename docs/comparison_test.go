package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

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
