package schema_test

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/manifests/crd"
)

// The API server estimates what each rule may cost, and refuses a CRD whose rules could cost too much.
func TestTheAPIServerTakesTheCRD(t *testing.T) {
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
	internal.Status.StoredVersions = []string{"v1alpha1"}
	for _, err := range validation.ValidateCustomResourceDefinition(t.Context(), internal) {
		t.Error(err)
	}
}
