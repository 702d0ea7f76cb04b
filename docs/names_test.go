package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainingjob/operator/pkg/operator/metrics"
)

// Whoever sees a reason finds it: troubleshooting.md names every reason and condition type of the API.
func TestTroubleshootingNamesEveryReason(t *testing.T) {
	text := read(t, "troubleshooting.md")
	values := constants(t, "../apis/training/v1alpha1/conditions.go")
	if len(values) < 60 {
		t.Fatalf("%d reasons, want at least 60: is the search wrong?", len(values))
	}
	for _, value := range values {
		if !strings.Contains(text, "`"+value+"`") {
			t.Errorf("%s is not there: which symptom is it, why, and what is to be done?", value)
		}
	}
}

// constants returns the string constants of a Go file.
func constants(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, value := range spec.Values {
			if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				values = append(values, strings.Trim(literal.Value, `"`))
			}
		}
		return false
	})
	return values
}

// What the pages tell people to type or to look for is there.
func TestNamesInThePagesExist(t *testing.T) {
	cobras := `"help" "completion"` // the verbs that cobra adds
	for _, names := range []struct{ what, pattern, source, as string }{
		{"target of make", "`make ([a-z][a-z0-9-]*)[` ]", read(t, "../Makefile"), "\n%s:"},
		{"verb of kubectl tj", `kubectl tj ([a-z]+)`, sources(t, "../pkg/cli/*.go") + cobras, `"%s`},
		{"metric", `\b(trainingjob_[a-z_]*[a-z])`, metricNames(t), `"%s"`},
	} {
		found := map[string]string{}
		for _, p := range pages(t) {
			for _, match := range regexp.MustCompile(names.pattern).FindAllStringSubmatch(read(t, p.path), -1) {
				found[match[1]] = p.path
			}
		}
		if len(found) < 5 {
			t.Errorf("%d names of a %s, want at least 5: is the search wrong?", len(found), names.what)
		}
		for name, where := range found {
			if !strings.Contains(names.source, strings.ReplaceAll(names.as, "%s", name)) {
				t.Errorf("%s names %q, which is no %s", where, name, names.what)
			}
		}
	}
}

// metricNames returns the names of all metrics in quotes, those of a histogram's series too.
func metricNames(t *testing.T) string {
	t.Helper()
	if len(metrics.All) < 30 {
		t.Fatalf("%d metrics", len(metrics.All))
	}
	var names strings.Builder
	for _, f := range metrics.All {
		fmt.Fprintf(&names, "%q %q %q %q ", f.Name, f.Name+"_bucket", f.Name+"_sum", f.Name+"_count")
	}
	return names.String()
}

// sources returns the text of all files that the pattern matches, without tests.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	var all strings.Builder
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			all.WriteString(read(t, file))
		}
	}
	return all.String()
}

// docs/frameworks.md names each variable that a framework's replicas get, or the beginning that it has in common with others.
func TestFrameworksNamesEveryVariable(t *testing.T) {
	var named []string
	for _, match := range regexp.MustCompile("`([A-Z][A-Z0-9_]+\\*?)(?:=1)?`").FindAllStringSubmatch(read(t, "frameworks.md"), -1) {
		named = append(named, match[1])
	}
	variables := regexp.MustCompile(`Name: "([A-Z][A-Z0-9_]+)"`).FindAllStringSubmatch(sources(t, "../pkg/job/framework/*.go"), -1)
	if len(variables) < 50 {
		t.Fatalf("%d variables, want at least 50: is the search wrong?", len(variables))
	}
	for _, variable := range variables {
		if !slices.ContainsFunc(named, func(name string) bool {
			beginning, isBeginning := strings.CutSuffix(name, "*")
			return name == variable[1] || isBeginning && strings.HasPrefix(variable[1], beginning)
		}) {
			t.Errorf("frameworks.md does not name %s", variable[1])
		}
	}
}
