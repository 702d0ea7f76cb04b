package convert_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/schema"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

var update = flag.Bool("update", false, "write the golden files anew; read what changed")

// One job of each kind, with the fields that the examples of Kubeflow do not have: what becomes of it, and what the report says.
func TestGolden(t *testing.T) {
	sources, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(sources) != 7 {
		t.Fatalf("%d sources (%v), want one of each of 7 kinds", len(sources), err)
	}
	for _, source := range sources {
		t.Run(strings.TrimSuffix(filepath.Base(source), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			report, err := convert.Stream(bytes.NewReader(text), &out)
			if err != nil {
				t.Fatal(err)
			}
			job := new(v1alpha1.TrainingJob)
			if err := yaml.UnmarshalStrict(out.Bytes(), job); err != nil {
				t.Fatal(err)
			}
			document := out.String()
			if job.Name == "" { // the API server makes a name of generateName before it looks at it
				document = strings.Replace(document, "generateName: "+job.GenerateName, "name: "+job.GenerateName+"x", 1)
			}
			if _, err := schema.Job([]byte(document)); err != nil {
				t.Errorf("the API server refuses it: %v", err)
			}
			golden(t, strings.TrimSuffix(source, ".yaml")+".golden", out.String()+"\n"+report.String())
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
