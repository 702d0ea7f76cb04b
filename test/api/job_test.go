//go:build e2e

package api_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// goodJob is a job that nothing is wrong with. POD stands for a pod template, here and in the tables.
const goodJob = `
apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata: {name: good}
spec:
  framework: TensorFlow
  managedBy: ` + nobody + `
  replicaSpecs:
    Worker: {replicas: 4, template: POD}
`

const pod = `{spec: {containers: [{name: main, image: busybox}]}}`

// job returns the good job in namespace, changed by merge patches in YAML: null takes a field away.
func job(t *testing.T, namespace string, patches ...string) *unstructured.Unstructured {
	t.Helper()
	object := parse(t, goodJob)
	for _, patch := range patches {
		merge(object, parse(t, patch))
	}
	u := &unstructured.Unstructured{Object: object}
	u.SetNamespace(namespace)
	return u
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "POD", pod)), &value); err != nil {
		t.Fatalf("parsing %s: %v", text, err)
	}
	return value
}

// typed returns what object says as a TrainingJob.
func typed(t *testing.T, object *unstructured.Unstructured) *v1alpha1.TrainingJob {
	t.Helper()
	j := new(v1alpha1.TrainingJob)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, j); err != nil {
		t.Fatal(err)
	}
	return j
}

// merge changes object as a JSON merge patch (RFC 7386) does.
func merge(object, patch map[string]any) {
	for key, value := range patch {
		below, isMap := object[key].(map[string]any)
		change, changesMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isMap && changesMap:
			merge(below, change)
		default:
			object[key] = value
		}
	}
}

// expectRefusal fails unless err has the sentence; an empty sentence expects no error.
func expectRefusal(t *testing.T, err error, sentence string) {
	t.Helper()
	if matches(err, sentence) {
		return
	}
	if sentence == "" {
		sentence = "(none)"
	}
	t.Errorf("expected the refusal\n  %s\nbut saw\n  %v", sentence, err)
}

func matches(err error, sentence string) bool {
	if sentence == "" || err == nil {
		return sentence == "" && err == nil
	}
	return strings.Contains(err.Error(), sentence)
}
