package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// In each table of decisions.md the newest row comes first.
func TestTheNewestDecisionComesFirst(t *testing.T) {
	row, rows, later := regexp.MustCompile(`^\| (\d{4}-\d\d-\d\d) \|`), 0, ""
	for n, line := range strings.Split(read(t, "decisions.md"), "\n") {
		date := row.FindStringSubmatch(line)
		if date == nil { // a table begins, or ends
			later = ""
			continue
		}
		if later != "" && date[1] > later {
			t.Errorf("decisions.md:%d: a decision of %s stands below one of %s", n+1, date[1], later)
		}
		rows, later = rows+1, date[1]
	}
	if rows < 100 {
		t.Errorf("only %d decisions, want at least 100: is the search wrong?", rows)
	}
}
