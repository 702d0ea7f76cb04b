package main

import (
	"slices"
	"strings"
	"testing"
)

func TestAPackageAboveItsBudgetIsNamed(t *testing.T) {
	line := func(n int) string { return strings.Repeat("x\n", n) }
	files := map[string]string{"pkg/job/state/a.go": line(6), "pkg/job/state/b.go": line(5), "pkg/cli/a.go": line(4)}
	for name, c := range map[string]struct {
		table string
		want  []string
	}{
		"within":            {"pkg 15,core 11,pkg/job/state 11 core,pkg/cli 4", nil},
		"a package above":   {"pkg 15,core 11,pkg/job/state 11 core,pkg/cli 3", []string{"pkg/cli has 4 lines, and its budget is 3"}},
		"the core above":    {"pkg 15,core 10,pkg/job/state 11 core,pkg/cli 4", []string{"core has 11 lines, and its budget is 10"}},
		"a package without": {"pkg 15,core 11,pkg/job/state 11 core", []string{"pkg/cli has 4 lines and no budget"}},
		"a row without":     {"pkg 15,core 11,pkg/job/state 11 core,pkg/cli 4,pkg/old 3", []string{"pkg/old has a budget and no code: delete its row"}},
	} {
		var table []row
		for _, r := range strings.Split(c.table, ",") {
			name, value, _ := strings.Cut(r, " ")
			table = append(table, row{name, value})
		}
		budgets, err := parseBudgets(table)
		if _, got := compare(files, budgets); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, error %v; want %q", name, got, err, c.want)
		}
	}
}
