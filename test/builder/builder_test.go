package builder_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/builder"
)

const manifest = "../../manifests/crd/trainingjob.dev_trainingjobs.yaml"

// schemaOf returns the CRD's structural schema.
func schemaOf(t *testing.T) *schema.Structural {
	t.Helper()
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	return structural
}

func TestDefaultsAreThoseOfTheSchema(t *testing.T) {
	var stored map[string]any
	written := `{"metadata": {"name": "j"}, "spec": {"framework": "Custom", "replicaSpecs": {"Worker": {"template": {}}}}}`
	if err := json.Unmarshal([]byte(written), &stored); err != nil {
		t.Fatal(err)
	}
	defaulting.Default(stored, schemaOf(t))
	text, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	var want v1alpha1.TrainingJob
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	got := builder.Job("j", builder.Workers(1, builder.Policy("")))
	worker := got.Spec.ReplicaSpecs[v1alpha1.Worker]
	worker.Template.Spec.Containers = nil
	got.Spec.ReplicaSpecs[v1alpha1.Worker] = worker
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Errorf("the schema's defaults are not the builder's (-schema +builder):\n%s", diff)
	}
}
