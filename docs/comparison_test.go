package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainingjob/operator/test/bench/results"
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

// shortTitles are what README.md calls the rows of peers.json.
var shortTitles = map[string]string{"one job of 512 pods runs after": "large", "a job of 512 restarts whole in": "restart"}

// README.md repeats the medians of peers.json, bold where another is ahead.
func TestTheShortComparisonRepeatsWhatWasMeasured(t *testing.T) {
	measured := measurements(t).Compare()
	count := 0
	for _, cells := range rows(shortComparison(t), 5) {
		row, isMeasured := shortTitles[cells[0]]
		if isMeasured != strings.HasSuffix(cells[1], "[fast]") {
			t.Errorf("row %q of README.md: a time is one of shortTitles and links to the benchmarks", cells[0])
		}
		if isMeasured {
			count++
			checkTimes(t, cells, measured, row)
			checkConditions(t, cells, measured, row)
		}
	}
	if count != len(shortTitles) {
		t.Errorf("%d rows of times, want %d: is the table read wrong?", count, len(shortTitles))
	}
}

// checkTimes compares a row with what was measured for each maker.
func checkTimes(t *testing.T, cells []string, measured results.Comparison, row string) {
	t.Helper()
	for i, makers := range compared {
		var times []string
		isAhead := false
		for _, maker := range makers {
			times = append(times, measured.Of(row, maker).Median())
			isAhead = isAhead || measured.IsAhead(row, maker, "TrainingJob")
		}
		want := "[" + strings.Join(slices.Compact(times), ", ") + "]"
		if isAhead {
			want = "**" + want
		}
		if !strings.HasPrefix(cells[i+1], want) {
			t.Errorf("row %q, column %d: %q, and peers.json has %s", cells[0], i+1, cells[i+1], want)
		}
	}
}

// checkConditions demands the time with new pods wherever the time of a restart in place stands: peers restart with new pods.
func checkConditions(t *testing.T, cells []string, measured results.Comparison, row string) {
	t.Helper()
	created := measured.Of(row, "TrainingJob, all pods new")
	if created != nil && !strings.Contains(cells[1], "in place, with [short grace periods](docs/recovery.md#restart-in-place); with new pods ["+created.Median()+"]") {
		t.Errorf("row %q: %q does not give the condition of the time in place and the time with new pods, %s", cells[0], cells[1], created.Median())
	}
}
