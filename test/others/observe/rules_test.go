package observe

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

type rule struct {
	Record, Alert, Expr string
	Annotations         map[string]string
	Labels              map[string]string
}

type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file ruleFile
	if err := yaml.Unmarshal(read(t, "rules.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// isRecorded reports whether the expression is the name of a recording rule.
func isRecorded(t *testing.T, expression string) bool {
	t.Helper()
	for _, r := range rules(t) {
		if r.Record != "" && r.Record == expression {
			return true
		}
	}
	return false
}

// Every rule names metrics and labels that the operator has, or a rule before it; every alert has its section in the runbooks.
func TestRules(t *testing.T) {
	known := series(t)
	runbooks, err := os.ReadFile("../../../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, r := range rules(t) {
		for _, wrong := range check(r.Expr, known) {
			t.Errorf("%s%s: %s", r.Record, r.Alert, wrong)
		}
		if r.Record != "" {
			known[r.Record] = labelsOf(r.Expr)
			continue
		}
		alerts++
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s lacks a summary, a description or a severity", r.Alert)
		}
		if !strings.Contains(string(runbooks), "\n## "+r.Alert+"\n") || !strings.HasSuffix(r.Annotations["runbook_url"], "docs/runbooks.md#"+strings.ToLower(r.Alert)) {
			t.Errorf("%s has no section in docs/runbooks.md, or %q is not its address", r.Alert, r.Annotations["runbook_url"])
		}
	}
	if alerts < 6 {
		t.Errorf("%d alerts", alerts)
	}
}

// labelsOf returns the labels that a recording rule leaves, as its outermost aggregation says.
func labelsOf(expression string) []string {
	found := regexp.MustCompile(`^sum by \(([^)]*)\)`).FindStringSubmatch(expression)
	if found == nil {
		return nil
	}
	return strings.Split(found[1], ", ")
}

// The PrometheusRule is the rule file.
func TestThePrometheusRuleIsTheRuleFile(t *testing.T) {
	var object struct{ Spec any }
	var file any
	if err := yaml.Unmarshal(read(t, "prometheusrule.yaml"), &object); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(read(t, "rules.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(file, object.Spec); diff != "" {
		t.Errorf("run make generate (-rules.yaml +prometheusrule.yaml):\n%s", diff)
	}
}

// promtool runs promtool, which make test-observe builds.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	tool, err := filepath.Abs("../../../bin/promtool")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, args...).CombinedOutput()
	t.Logf("promtool %s:\n%s", strings.Join(args, " "), out)
	if err != nil {
		t.Errorf("%v: is bin/promtool built? make test-observe", err)
	}
}

func TestPromtoolChecksTheRules(t *testing.T) {
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", filepath.Join(component, "rules.yaml"))
}

// rules_test.yaml fires every alert, and shows that none fires when all is well.
func TestPromtoolFiresEveryAlert(t *testing.T) {
	promtool(t, "test", "rules", "rules_test.yaml")
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string `yaml:"alertname"`
				ExpAlerts []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	text, err := os.ReadFile("rules_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, c := range test.AlertRuleTest {
			fires[c.Alertname] = fires[c.Alertname] || len(c.ExpAlerts) > 0
			silent[c.Alertname] = silent[c.Alertname] || len(c.ExpAlerts) == 0
		}
	}
	for _, r := range rules(t) {
		if r.Alert != "" && (!fires[r.Alert] || !silent[r.Alert]) {
			t.Errorf("%s: it fires in a test: %t; it is silent in one: %t", r.Alert, fires[r.Alert], silent[r.Alert])
		}
	}
}
