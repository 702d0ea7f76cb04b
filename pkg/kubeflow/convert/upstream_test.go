package convert_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainingjob/operator/pkg/cli/schema"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
	"github.com/trainingjob/operator/test/others/kubeflow"
)

// Every example of the two operators becomes a job that the API server takes.
func TestExamplesOfKubeflow(t *testing.T) {
	for _, c := range []struct {
		module  kubeflow.Module
		folder  string
		atLeast int
	}{
		{kubeflow.TrainingOperator, "examples", 24},
		{kubeflow.MPIOperator, "examples", 5},
	} {
		files, err := c.module.Manifests(t.Context(), c.folder)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) < c.atLeast {
			t.Fatalf("%s has %d manifests, want at least %d: is the search wrong?", c.module.Path, len(files), c.atLeast)
		}
		for _, file := range files {
			t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) { example(t, file) })
		}
	}
}

func example(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	report, err := convert.Stream(bytes.NewReader(text), &out)
	if err != nil {
		t.Fatal(err)
	}
	if report.Jobs == 0 {
		t.Fatalf("no job was found in\n%s", text)
	}
	for _, document := range strings.Split(out.String(), "\n---\n") {
		if _, err := schema.Job([]byte(document)); err != nil {
			t.Errorf("%v in\n%s", err, document)
		}
	}
	t.Logf("%s\n%s", report, out.String())
}
