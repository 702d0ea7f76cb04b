package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/manifests/crd"
)

// The API server estimates what each rule may cost, and refuses a CRD whose rules could cost too much.
func TestTheAPIServerTakesTheCRD(t *testing.T) {
	internal := installed(t)
	internal.Status.StoredVersions = []string{"v1alpha1"}
	for _, err := range validation.ValidateCustomResourceDefinition(t.Context(), internal) {
		t.Error(err)
	}
}

// A newer operator beside an older CRD forgets nothing: the API server keeps what this CRD does not know of the memory, and only that.
func TestTheMemoryIsNotPruned(t *testing.T) {
	internal := installed(t)
	structural, err := structuralschema.NewStructural(internal.Spec.Validation.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	memory := func() any {
		return map[string]any{"new": "a", "roles": map[string]any{"Worker": map[string]any{"new": "b", "started": "0"}},
			"charges": []any{map[string]any{"name": "maxRestarts", "new": "c"}}}
	}
	job := map[string]any{"status": map[string]any{"new": "d", "phase": "Running", "memory": memory()}}
	pruning.Prune(job, structural, true)
	want := map[string]any{"status": map[string]any{"phase": "Running", "memory": memory()}}
	if diff := cmp.Diff(want, job); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// installed returns the CRD as the API server has it.
func installed(t testing.TB) *apiextensions.CustomResourceDefinition {
	t.Helper()
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(crd.TrainingJobs, &definition); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&definition)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
	internal := new(apiextensions.CustomResourceDefinition)
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&definition, internal, nil); err != nil {
		t.Fatal(err)
	}
	return internal
}
