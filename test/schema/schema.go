// Package schema holds statuses against the schema of the CRD, as the API server does with each that is written.
//
// Decisions, newest first:
//   - The schema is read from manifests/crd, not built from the Go types: what users install decides.
package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// CheckStatus returns an error that says what the API server would refuse of the status.
func CheckStatus(status *v1alpha1.TrainingJobStatus) error {
	validator, err := validator()
	if err != nil {
		return err
	}
	text, err := json.Marshal(status)
	if err != nil {
		return fmt.Errorf("writing the status as JSON: %w", err)
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return fmt.Errorf("reading the status as JSON: %w", err)
	}
	return validation.ValidateCustomResource(nil, object, validator).ToAggregate()
}

var validator = sync.OnceValues(func() (validation.SchemaValidator, error) {
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../manifests/crd/trainingjob.dev_trainingjobs.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the CRD: %w", err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, fmt.Errorf("decoding the CRD: %w", err)
	}
	var internal apiextensions.JSONSchemaProps
	status := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&status, &internal, nil); err != nil {
		return nil, fmt.Errorf("converting the schema: %w", err)
	}
	made, _, err := validation.NewSchemaValidator(&internal)
	return made, err
})
