package serve_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainingjob/operator/pkg/kubeflow/convert"
	"github.com/trainingjob/operator/pkg/kubeflow/serve"
)

// The kinds that kubectl tj takes by name, the flag takes, and kustomize and the chart turn on.
func TestTheKindsAreTheSameEverywhere(t *testing.T) {
	var names []string
	for _, kind := range convert.ServedKinds() {
		names = append(names, kind.Name)
	}
	parsed, err := serve.ParseKinds(names)
	if err != nil || len(parsed) != 5 {
		t.Fatalf("%d kinds, want 5: %v", len(parsed), err)
	}
	for _, file := range []string{"components/kubeflow-kinds/kustomization.yaml", "chart/values.yaml", "chart/values.schema.json"} {
		text, err := os.ReadFile("../../../manifests/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(text), name) {
				t.Errorf("%s does not name %s", file, name)
			}
		}
	}
}

// An uninstallation deletes what the manifests contain, and the deletion of a CRD deletes all jobs of its kind.
func TestTheManifestsContainNoKubeflowCRD(t *testing.T) {
	searched := 0
	err := filepath.WalkDir("../../../manifests", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "kind: CustomResourceDefinition") {
			searched++
			if strings.Contains(string(text), "group: kubeflow.org") {
				t.Errorf("%s contains a CRD of kubeflow.org", path)
			}
		}
		return err
	})
	if err != nil || searched == 0 {
		t.Errorf("%d CRDs searched: %v", searched, err)
	}
}
