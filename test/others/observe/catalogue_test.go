// Package observe holds the rules and dashboards of manifests/components/prometheus against the catalogue of the operator's metrics, by
// the parser and the tools of Prometheus itself. It is a module of its own, as Prometheus is large: make test-observe.
package observe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

const component = "../../../manifests/components/prometheus"

// family is an entry of the catalogue, which make generate writes.
type family struct {
	Name, Kind string
	Labels     []string
}

// others are the metrics of controller-runtime and of Prometheus itself that rules and dashboards may use, with their labels:
// https://book.kubebuilder.io/reference/metrics-reference.
var others = []family{
	{"controller_runtime_reconcile_errors_total", "counter", []string{"controller"}},
	{"controller_runtime_reconcile_total", "counter", []string{"controller", "result"}},
	{"workqueue_depth", "gauge", []string{"name", "controller", "priority"}},
	{"controller_runtime_reconcile_time_seconds", "histogram", []string{"controller"}},
	{"leader_election_master_status", "gauge", []string{"name"}},
	{"process_start_time_seconds", "gauge", nil},
	{"process_resident_memory_bytes", "gauge", nil},
	{"process_cpu_seconds_total", "counter", nil},
	{"go_gc_gomemlimit_bytes", "gauge", nil},
	{"rest_client_requests_total", "counter", []string{"code", "method", "host"}},
}

// everywhere are the labels that Prometheus gives each series that it scrapes.
var everywhere = []string{"job", "instance"}

// series returns the labels of each series that there can be, by its name.
func series(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("metrics.json")
	if err != nil {
		t.Fatal(err)
	}
	var families []family
	if err := json.Unmarshal(text, &families); err != nil {
		t.Fatal(err)
	}
	if len(families) < 30 {
		t.Fatalf("%d metrics in the catalogue", len(families))
	}
	all := map[string][]string{}
	for _, f := range append(families, others...) {
		known := append(slices.Clone(f.Labels), everywhere...)
		if f.Kind != "histogram" {
			all[f.Name] = known
			continue
		}
		all[f.Name+"_sum"], all[f.Name+"_count"], all[f.Name+"_bucket"] = known, known, append(slices.Clone(known), "le")
	}
	return all
}

// grafana replaces the variables of a dashboard's expression that stand outside of a string.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1d")

// check returns what is wrong with an expression: it does not parse, or names a series or a label that there is not.
func check(expression string, known map[string][]string) []string {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(grafana.Replace(expression))
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			wrong = append(wrong, checkSelector(node, known)...)
		case *parser.AggregateExpr:
			have := labelsWithin(node.Expr, known)
			for _, label := range node.Grouping {
				if !slices.Contains(have, label) {
					wrong = append(wrong, "no series within the sum has the label "+label)
				}
			}
		}
		return nil
	})
	return wrong
}

func checkSelector(selector *parser.VectorSelector, known map[string][]string) []string {
	have, is := known[selector.Name]
	if !is {
		return []string{"there is no metric " + selector.Name}
	}
	var wrong []string
	for _, m := range selector.LabelMatchers {
		if m.Name != model.MetricNameLabel && !slices.Contains(have, m.Name) {
			wrong = append(wrong, selector.Name+" has no label "+m.Name)
		}
	}
	return wrong
}

// labelsWithin returns the labels of all series that an expression names.
func labelsWithin(expression parser.Expr, known map[string][]string) []string {
	var all []string
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is {
			all = append(all, known[selector.Name]...)
		}
		return nil
	})
	return all
}

// The check finds what it is there for.
func TestTheCheckFindsWhatIsWrong(t *testing.T) {
	known := map[string][]string{"a_bucket": {"le", "kind"}}
	for expression, want := range map[string]int{
		`rate(a_bucket{kind="x"}[$__rate_interval])`: 0, `sum by (le) (a_bucket)`: 0, `b`: 1, `a_bucket{node="x"}`: 1, `sum by (node) (a_bucket)`: 1, `sum(`: 1,
	} {
		if got := check(expression, known); len(got) != want {
			t.Errorf("%s: %q, want %d things wrong", expression, got, want)
		}
	}
}

// read returns a file of the component.
func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{component}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
