//go:build kubeflow

package suites

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/trainingjob/operator/test/others/kubeflow"
)

// suite is a package with specs that use only the API.
type suite struct {
	// folder is the package's folder in its module, and name its name in Go.
	folder, name string
	// replaced is the suite file that starts the controller.
	replaced string
	// more is what the specs of the package use besides, as Go.
	more string
	// focus and labels select the specs; empty for all.
	focus, labels string
	// specs is how many there are.
	specs int
}

//go:embed kubeflow.go.txt
var kubeflowSuite string

//go:embed kueue.go.txt
var kueueSuite string

func TestKubeflowsSpecs(t *testing.T) {
	run(t, kubeflow.TrainingOperator, kubeflowSuite,
		suite{folder: "pkg/controller.v1/pytorch", name: "pytorch", replaced: "pytorchjob_controller_suite_test.go", specs: 7},
		suite{
			folder: "pkg/controller.v1/tensorflow", name: "tensorflow", replaced: "suite_test.go", more: "var reconciler *TFJobReconciler",
			focus: "suspend semantics|copy labels", specs: 4,
		},
		suite{folder: "pkg/controller.v1/xgboost", name: "xgboost", replaced: "suite_test.go", specs: 3},
		suite{folder: "pkg/controller.v1/paddlepaddle", name: "paddle", replaced: "paddlepaddle_controller_suite_test.go", specs: 4},
		suite{folder: "pkg/controller.v1/jax", name: "jax", replaced: "jaxjob_controller_suite_test.go", specs: 2})
}

const (
	forKubeflow = "feature:pytorchjob || feature:jaxjob"
	forJobSets  = "feature:jobset || feature:trainjob"
)

// TestKueuesSpecs needs real nodes: the specs end pods by commands in them.
func TestKueuesSpecs(t *testing.T) { runKueues(t, "singlecluster", forKubeflow, 2) }

// TestKueuesTopologySpecs needs nodes named as kind names them.
func TestKueuesTopologySpecs(t *testing.T) { runKueues(t, "tas", forKubeflow, 1) }

// TestKueuesSpecsOfJobSets needs fake nodes, on which the pods end.
func TestKueuesSpecsOfJobSets(t *testing.T) { runKueues(t, "singlecluster", forJobSets, 4) }

// TestKueuesTopologySpecsOfJobSets needs nodes named as kind names them.
func TestKueuesTopologySpecsOfJobSets(t *testing.T) { runKueues(t, "tas", forJobSets, 7) }

// runKueues runs Kueue's specs of an area that have the labels.
func runKueues(t *testing.T, area, labels string, specs int) {
	run(t, kubeflow.Kueue, kueueSuite, suite{folder: "test/e2e/" + area + "/extended", name: "extended", replaced: "suite_test.go", labels: labels, specs: specs})
}

// run runs the suites of a module, with that text in place of each suite file.
func run(t *testing.T, from kubeflow.Module, text string, suites ...suite) {
	if os.Getenv("KUBECONFIG") == "" {
		t.Fatal("KUBECONFIG names no cluster: run make test-kubeflow")
	}
	module := copyModule(t, from)
	for _, s := range suites {
		replacement := strings.ReplaceAll(text, "PACKAGE", s.name) + "\n" + s.more + "\n"
		if err := os.WriteFile(filepath.Join(module, s.folder, s.replaced), []byte(replacement), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range suites {
		t.Run(s.folder, func(t *testing.T) { s.run(t, module) })
	}
}

// run runs the specs of the suite in a copy of its module.
func (s *suite) run(t *testing.T, module string) {
	report := filepath.Join(t.TempDir(), "report.json")
	run := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout=20m", "./"+s.folder, "-run=TestAPIs",
		"-args", "--ginkgo.json-report="+report, "--ginkgo.focus="+s.focus, "--ginkgo.label-filter="+s.labels)
	run.Dir = module
	output, err := run.CombinedOutput()
	passed, failures := read(t, report, output)
	fmt.Printf("%s: %d of %d specs passed\n", s.folder, passed, passed+len(failures))
	for _, f := range failures {
		t.Error(f)
	}
	if ran := passed + len(failures); ran != s.specs {
		t.Errorf("%d specs ran, want %d", ran, s.specs)
	}
	if err != nil && len(failures) == 0 {
		t.Errorf("%v\n%s", err, output)
	}
}

// copyModule returns a folder with a copy of the module, which can be written.
func copyModule(t *testing.T, module kubeflow.Module) string {
	t.Helper()
	from, err := module.Dir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "module")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "chmod", "-R", "u+w", to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

// read returns the result of a run by its report: how many specs passed, and a text for each that failed.
func read(t *testing.T, path string, output []byte) (passed int, failures []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("no report: %v\n%s", err, output)
	}
	var reports []types.Report
	if err := json.Unmarshal(text, &reports); err != nil {
		t.Fatal(err)
	}
	for _, report := range reports {
		for i := range report.SpecReports {
			spec := &report.SpecReports[i]
			switch {
			case spec.State.Is(types.SpecStatePassed):
				if spec.LeafNodeType == types.NodeTypeIt {
					passed++
				}
			case spec.State.Is(types.SpecStateFailureStates):
				failures = append(failures, fmt.Sprintf("%s\n%s\n%s", spec.FullText(), spec.Failure.Location, spec.Failure.Message))
			}
		}
	}
	return passed, failures
}
