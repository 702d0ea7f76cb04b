package convert_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

// wrong are values of every type, for places that expect another.
var wrong = []any{nil, "x", "", true, int64(-1), int64(1 << 40), 2.5, []any{}, []any{nil}, []any{"x"}, map[string]any{}, map[string]any{"x": nil}}

// Whatever stands where in a job, Job returns one whose YAML has known fields only, or an error; it does not panic.
func TestJobsWithWrongValues(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d sources: %v", len(files), err)
	}
	var texts [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	converted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var object map[string]any
		if err := yaml.Unmarshal(rapid.SampledFrom(texts).Draw(t, "job"), &object); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 3).Draw(t, "values") {
			spoil(t, object)
		}
		job, _, err := convert.Job(object)
		if err != nil {
			refused++
			return
		}
		converted++
		text, err := convert.YAML(job)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, new(v1alpha1.TrainingJob)); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	})
	if converted == 0 || refused == 0 {
		t.Errorf("%d converted, %d refused: the values are not as wrong as they should be", converted, refused)
	}
}

// spoil goes some steps into the object and writes a wrong value there.
func spoil(t *rapid.T, object map[string]any) {
	at, write := any(object), func(any) {}
	for {
		var inner any
		switch here := at.(type) {
		case map[string]any:
			if len(here) > 0 {
				name := rapid.SampledFrom(slices.Sorted(maps.Keys(here))).Draw(t, "field")
				inner, write = here[name], func(value any) { here[name] = value }
			}
		case []any:
			if len(here) > 0 {
				i := rapid.IntRange(0, len(here)-1).Draw(t, "item")
				inner, write = here[i], func(value any) { here[i] = value }
			}
		}
		if inner == nil || rapid.IntRange(0, 5).Draw(t, "stop") == 0 {
			write(runtime.DeepCopyJSONValue(rapid.SampledFrom(wrong).Draw(t, "value"))) // a copy, as it may be spoiled next
			return
		}
		at = inner
	}
}
