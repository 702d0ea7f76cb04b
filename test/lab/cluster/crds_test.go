package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

const crd = `
kind: CustomResourceDefinition
apiVersion: apiextensions.k8s.io/v1
metadata: {name: a.example.com}
---
kind: Kustomization
resources: [x]
`

func TestCRDsAreFoundAmongOtherThings(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.yaml": crd, "b.yml": crd, "README.md": "# not yaml: at all:"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]int{dir: 2, filepath.Join(dir, "a.yaml"): 1} {
		found, err := readCRDs(path)
		if err != nil || len(found) != want || found[0].Name != "a.example.com" {
			t.Errorf("%s: %d found, error %v; want %d", path, len(found), err, want)
		}
	}
	if _, err := readCRDs(t.TempDir()); err == nil {
		t.Error("a folder without CRDs is an error")
	}
}
