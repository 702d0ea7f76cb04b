package integrations

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// jobs are the recorded jobs, and unseen: one that the operator has not looked at yet.
var jobs = []string{"unseen", "pending", "running", "hanging", "restarting", "suspended", "succeeded", "failed"}

// recorded returns a recorded job.
func recorded(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	file := name
	if name == "unseen" {
		file = "pending"
	}
	data, err := os.ReadFile(filepath.Join("testdata", file+".json"))
	if err != nil {
		t.Fatal(err)
	}
	job := &unstructured.Unstructured{}
	if err := job.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	if name == "unseen" {
		delete(job.Object, "status")
	}
	return job
}

// manifest reads a YAML file of manifests/integrations into what is given.
func manifest(t *testing.T, path string, into any) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "manifests", "integrations", path))
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := yaml.UnmarshalStrict(data, into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return data
}
