//go:build e2e

package api_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
	"github.com/trainingjob/operator/test/others/kubeflow"
)

// What pkg/kubeflow/convert makes of Kubeflow's examples, and of its own tests' jobs, the API server takes: with every field known.
func TestConvertedJobsAreTaken(t *testing.T) {
	ns := namespace(t, nil)
	files, err := filepath.Glob("../../pkg/kubeflow/convert/testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []kubeflow.Module{kubeflow.TrainingOperator, kubeflow.MPIOperator} {
		examples, err := module.Manifests(t.Context(), "examples")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, examples...)
	}
	jobs := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := convert.Stream(bytes.NewReader(text), &out); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, document := range strings.Split(out.String(), "\n---\n") {
			job := new(v1alpha1.TrainingJob)
			if err := yaml.UnmarshalStrict([]byte(document), job); err != nil {
				t.Fatal(err)
			}
			job.Namespace = ns
			jobs++
			if err := admin.Create(t.Context(), job, client.DryRunAll); err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(file), err, document)
			}
		}
	}
	if jobs < 36 {
		t.Errorf("%d jobs, want at least 36: is the search wrong?", jobs)
	}
}
