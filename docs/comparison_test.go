package docs_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unproven are the beginnings of cells of the comparison that nothing can be linked for: something is not there, or the cell
// refers to another one.
var unproven = []string{"", "-", "no", "none", "not yet; none", "by hand", "in pods", "as JobSet", "it alone, by its Job", "stays succeeded, by its Job"}

// Each claim of the comparison rests on a test of ours, a measurement, or a file or issue of the other's at a version.
func TestEachCellOfTheComparisonHasASource(t *testing.T) {
	text := read(t, "comparison.md")
	all := rows(text, 6)
	for _, cells := range all {
		for i, cell := range cells[1:] {
			words, _, _ := strings.Cut(cell, ":")
			if !isLinked(cell) && !isUnproven(words) {
				t.Errorf("row %q, column %d: %q has no link", cells[0], i+1, cell)
			}
		}
	}
	if len(all) < 10 || len(all) > 15 {
		t.Errorf("%d rows, want 10 to 15: is the table read wrong, or the page too long?", len(all))
	}
	for _, l := range (page{"comparison.md", text}).links() {
		if strings.HasPrefix(l.target, "https://github.com/") && !versioned.MatchString(l.target) {
			t.Errorf("%s is not at a version", l.target)
		}
	}
}

// rows returns the cells of all rows but the heads of the tables with so many columns.
func rows(text string, columns int) [][]string {
	var all [][]string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| |") || len(cells) != columns {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	return all
}

func isLinked(cell string) bool { return strings.Contains(cell, "](") || strings.Contains(cell, "][") }

func isUnproven(cell string) bool {
	return slices.ContainsFunc(unproven, func(beginning string) bool {
		return cell == beginning || beginning == "no" && strings.HasPrefix(cell, "no ") || beginning == "in pods" && strings.HasPrefix(cell, "in pods ")
	})
}

// versioned are GitHub's addresses of what does not change: a file or folder at a tag, a release, an issue; or of a project as such.
var versioned = regexp.MustCompile(`^https://github\.com/[^/]+/[^/]+(/(blob|tree|releases/tag)/v\d+\.\d+\.\d+(/.*)?|/issues/\d+)?$`)

// Each cell of README.md's comparison leads to where it comes from.
func TestEachCellOfTheShortComparisonHasASource(t *testing.T) {
	all := rows(shortComparison(t), 5)
	for _, cells := range all {
		for i, cell := range cells[1:] {
			if !isLinked(cell) {
				t.Errorf("row %q, column %d: %q has no link", cells[0], i+1, cell)
			}
		}
	}
	if len(all) != 6 {
		t.Errorf("%d rows, want 6: is the table read wrong, or the page too long?", len(all))
	}
}

func shortComparison(t *testing.T) string {
	t.Helper()
	_, section, _ := strings.Cut(read(t, "../README.md"), "\n## How it compares\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// compared are the makers of jobs in each column of README.md's comparison.
var compared = [][]string{{"TrainingJob"}, {"PyTorchJob"}, {"TrainJob", "JobSet"}, {"Volcano Job"}}

// shortTitles are what README.md calls the rows of benchmarks.md.
var shortTitles = map[string]string{"one job of 512 pods runs after": "1 x 512 to running", "a job of 512 restarts whole in": "whole restart of 512"}

// README.md repeats the times of benchmarks.md, bold where another is ahead.
func TestTheShortComparisonRepeatsWhatWasMeasured(t *testing.T) {
	measured := measuredTimes(t)
	count := 0
	for _, cells := range rows(shortComparison(t), 5) {
		title, isMeasured := shortTitles[cells[0]]
		if isMeasured != strings.HasSuffix(cells[1], "[fast]") {
			t.Errorf("row %q of README.md: a time is one of shortTitles and links to the benchmarks", cells[0])
		}
		if isMeasured {
			count++
			checkTimes(t, cells, measured[title])
			checkConditions(t, cells, measured[title])
		}
	}
	if count != len(shortTitles) {
		t.Errorf("%d rows of times, want %d: is the table read wrong?", count, len(shortTitles))
	}
}

// checkTimes compares a row with what was measured for each maker.
func checkTimes(t *testing.T, cells []string, measured map[string]string) {
	t.Helper()
	for i, makers := range compared {
		var times []string
		isAhead := false
		for _, maker := range makers {
			seconds, _, _ := strings.Cut(measured[maker], ",")
			times = append(times, seconds)
			isAhead = isAhead || isLess(measured[maker], measured["TrainingJob"])
		}
		want := "[" + strings.Join(slices.Compact(times), ", ") + "]"
		if isAhead {
			want = "**" + want
		}
		if !strings.HasPrefix(cells[i+1], want) {
			t.Errorf("row %q, column %d: %q, and benchmarks.md has %s", cells[0], i+1, cells[i+1], want)
		}
	}
}

// checkConditions demands the time with new pods wherever the time of a restart in place stands: peers restart with new pods.
func checkConditions(t *testing.T, cells []string, measured map[string]string) {
	t.Helper()
	seconds, _, hasBoth := strings.Cut(measured["TrainingJob, all pods new"], ",")
	if hasBoth && !strings.Contains(cells[1], "in place, where ranks wait and end within 5 s; with new pods ["+seconds+"]") {
		t.Errorf("row %q: %q does not give the condition of the time in place and the time with new pods, %s", cells[0], cells[1], seconds)
	}
}

// isLess reports whether the cell has fewer seconds than the other.
func isLess(cell, other string) bool {
	number := func(cell string) (float64, error) {
		text, _, _ := strings.Cut(cell, " s")
		return strconv.ParseFloat(text, 64)
	}
	a, errA := number(cell)
	b, errB := number(other)
	return errA == nil && errB == nil && a < b
}

// measuredTimes returns the cells of the table of times in benchmarks.md by row and maker, without the maker's version.
func measuredTimes(t *testing.T) map[string]map[string]string {
	t.Helper()
	_, section, _ := strings.Cut(read(t, "benchmarks.md"), "<!-- peers: begin")
	_, section, found := strings.Cut(section, "\n| | ")
	table, _, _ := strings.Cut(section, "\n\n")
	head, body, _ := strings.Cut(table, "\n")
	if !found {
		t.Fatal("benchmarks.md has no table of peers")
	}
	titles := strings.Split(strings.Trim(strings.TrimSpace(head), "|"), "|")
	measured := map[string]map[string]string{}
	for _, cells := range rows(body, len(titles)+1) {
		maker := version.ReplaceAllString(cells[0], "")
		for i, title := range titles {
			title = strings.TrimSpace(title)
			if measured[title] == nil {
				measured[title] = map[string]string{}
			}
			measured[title][maker] = cells[i+1]
		}
	}
	return measured
}

var version = regexp.MustCompile(` \d+\.\d+\.\d+$`)
