package docs_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/schema"
)

// yamlBlock is a fenced block of YAML.
var yamlBlock = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```$")

// aJob is what the parts of jobs in the pages are put into.
const aJob = `
apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata: {name: mnist, namespace: default}
spec:
  framework: PyTorch
  replicaSpecs:
    Worker: {replicas: 8, template: {spec: {containers: [{name: main, image: mnist}]}}}
`

// others are fields of YAML in the pages that is no TrainingJob: of Kueue, of gang schedulers, of kustomize, of RBAC.
var others = []string{"integrations", "multiKueue", "actions", "pluginConfig", "apiVersion", "ingress", "egress"}

// A job in the pages, or a part of one, is a job that the API server takes.
func TestJobsInThePagesAreValid(t *testing.T) {
	jobs := 0
	for _, p := range pages(t) {
		for _, block := range yamlBlock.FindAllStringSubmatch(read(t, p.path), -1) {
			for text := range strings.SplitSeq(block[1], "\n---\n") {
				if merged := asJob(t, p.path, text); merged != nil {
					jobs++
					checkJob(t, p.path, merged)
				}
			}
		}
	}
	if jobs < 8 {
		t.Errorf("%d jobs, want at least 8: is the search wrong?", jobs)
	}
}

// Editors know the fields of every example by its first line, which names the schema of this repository.
func TestEditorsKnowTheSchemaOfTheExamples(t *testing.T) {
	alone, _ := filepath.Glob("../examples/*.yaml")
	inFolders, _ := filepath.Glob("../examples/*/*.yaml")
	jobs := 0
	for _, path := range append(alone, inFolders...) {
		for document := range strings.SplitSeq(read(t, path), "\n---\n") {
			if !strings.Contains(document, "\nkind: TrainingJob\n") {
				continue
			}
			jobs++
			line, _, _ := strings.Cut(document, "\n")
			schema, found := strings.CutPrefix(line, "# yaml-language-server: $schema=")
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), schema)); !found || err != nil {
				t.Errorf("%s: a job begins with %q, want the line that names the schema (%v)", path, line, err)
			}
		}
	}
	if jobs < 30 {
		t.Errorf("%d jobs, want at least 30: is the search wrong?", jobs)
	}
}

// asJob returns the job that the YAML is or is a part of, nil for something else.
func asJob(t *testing.T, path, text string) map[string]any {
	t.Helper()
	var part, job map[string]any
	if err := yaml.Unmarshal([]byte(text), &part); err != nil {
		t.Fatalf("%s: %v in\n%s", path, err, text)
	}
	if err := yaml.Unmarshal([]byte(aJob), &job); err != nil {
		t.Fatal(err)
	}
	switch {
	case part["kind"] == v1alpha1.Kind:
		return part
	case part["kind"] == nil && has(part, "metadata", "spec"):
		return merge(job, part)
	case has(part, specFields()...):
		return merge(job, map[string]any{"spec": part})
	case !has(part, others...):
		t.Errorf("%s: this is no part of a job, and nothing else that is known:\n%s", path, text)
	}
	return nil
}

// has reports whether the part has one of the fields.
func has(part map[string]any, fields ...string) bool {
	return slices.ContainsFunc(fields, func(field string) bool { return part[field] != nil })
}

// specFields are the fields of TrainingJobSpec.
func specFields() []string {
	var fields []string
	for field := range reflect.TypeFor[v1alpha1.TrainingJobSpec]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	return fields
}

// merge returns base with what part says besides, or otherwise.
func merge(base, part map[string]any) map[string]any {
	for key, value := range part {
		inner, isMap := value.(map[string]any)
		former, wasMap := base[key].(map[string]any)
		if isMap && wasMap {
			value = merge(former, inner)
		}
		base[key] = value
	}
	return base
}

func checkJob(t *testing.T, path string, merged map[string]any) {
	t.Helper()
	text, err := yaml.Marshal(merged)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Job(text); err != nil {
		t.Errorf("%s: %v in\n%s", path, err, text)
	}
}
