package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// A kind that a process watches, and an annotation that it reads, is a way in. The roles show the former: a process watches nothing without the right.
func TestEveryDoorHasItsFences(t *testing.T) {
	_, fences, _ := strings.Cut(read(t, "security.md"), "### Fences")
	fences, _, _ = strings.Cut(fences, "\n### ")
	tables := strings.SplitN(fences, "| annotation", 2)
	if len(tables) != 2 {
		t.Fatal("security.md has no tables of fences")
	}
	kinds, annotations := doors(t, tables[0]), doors(t, tables[1])
	var known []string
	for _, name := range regexp.MustCompile(`Annotation\w+ *= Group \+ "/([a-z-]+)"`).FindAllStringSubmatch(read(t, "../apis/training/v1alpha1/labels.go"), -1) {
		known = append(known, name[1])
	}
	if diff := cmp.Diff(sorted(known), annotations); diff != "" || len(known) < 15 {
		t.Errorf("annotations that only the API or only the table names (-API +table):\n%s", diff)
	}
	if diff := cmp.Diff(watched(t), kinds); diff != "" {
		t.Errorf("kinds that only the roles allow to watch, or only the table names (-roles +table):\n%s", diff)
	}
}

// watched returns the kinds that the roles of the operator and of Kueue's adapter allow to watch, as "pods" or "trainingjobs.trainingjob.dev".
func watched(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../manifests/components/*/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, file := range append(files, "../manifests/base/operator-role.yaml") {
		if strings.Contains(file, "multikueue") { // for Kueue's own account
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					if slices.Contains(rule.Verbs, "watch") {
						kinds = append(kinds, strings.TrimSuffix(resource+"."+rule.APIGroups[0], "."))
					}
				}
			}
		}
	}
	return sorted(kinds)
}

// doors returns the names in the first column of a table. Every cell must have a text.
func doors(t *testing.T, table string) []string {
	t.Helper()
	names, quota := []string{}, read(t, "../manifests/tenant/quota.yaml")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| `") || strings.HasPrefix(cells[0], " annotation") {
			continue
		}
		for _, cell := range cells {
			if strings.TrimSpace(cell) == "" {
				t.Errorf("a fence is missing: %s", line)
			}
		}
		isCounted := strings.Contains(line, "`count/")
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1) {
			names = append(names, name[1])
			if isCounted && !strings.Contains(quota, " count/"+name[1]+": ") {
				t.Errorf("manifests/tenant/quota.yaml does not count %s", name[1])
			}
		}
	}
	return sorted(names)
}

func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
