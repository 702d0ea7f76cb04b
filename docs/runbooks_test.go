package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// Each alert is in the list at the top of the runbooks, in the row of its severity.
func TestTheRunbooksListEachAlertByItsSeverity(t *testing.T) {
	page := read(t, "runbooks.md")
	alerts := regexp.MustCompile(`(?s)- alert: (\w+)\n.*?severity: (\w+)`).FindAllStringSubmatch(read(t, "../manifests/components/prometheus/rules.yaml"), -1)
	if len(alerts) < 15 {
		t.Fatalf("%d alerts, want at least 15: are the rules read wrong?", len(alerts))
	}
	for _, alert := range alerts {
		_, row, _ := strings.Cut(page, "\n| "+alert[2]+" | ")
		row, _, _ = strings.Cut(row, "\n")
		if !strings.Contains(row, "["+alert[1]+"](#"+strings.ToLower(alert[1])+")") {
			t.Errorf("%s is not in the row of severity %s", alert[1], alert[2])
		}
	}
}
