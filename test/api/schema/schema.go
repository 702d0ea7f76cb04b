// Package schema holds statuses against the schema of the CRD, as the API server does with each that is written. Whole jobs are held
// against it by pkg/cli/schema; that of the status alone is quick enough for a simulator that writes millions.
//
// It also has the extremes of every leaf of the schema, for tests that Go can decode whatever the API server accepts.
//
// Decisions, newest first:
//   - The schema is read from manifests/crd, not built from the Go types: what users install decides.
package schema

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/manifests/crd"
)

// CheckStatus returns an error that says what the API server would refuse of the status.
func CheckStatus(status *v1alpha1.TrainingJobStatus) error {
	validator, err := validator()
	if err != nil {
		return err
	}
	text, err := json.Marshal(status)
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	known := sha256.Sum256(text)
	if _, isValid := valid.Load(known); isValid {
		return nil
	}
	var object map[string]any
	if err := utiljson.Unmarshal(text, &object); err != nil { // whole numbers stay whole, as in the API server
		return err
	}
	if err := validation.ValidateCustomResource(nil, object, validator).ToAggregate(); err != nil {
		return err
	}
	valid.Store(known, true)
	return nil
}

// valid are the hashes of statuses that were checked: the simulator's runs repeat each other.
var valid sync.Map

var validator = sync.OnceValues(func() (validation.SchemaValidator, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(crd.TrainingJobs, &definition); err != nil {
		return nil, fmt.Errorf("decoding the CRD: %w", err)
	}
	status := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
	internal := new(apiextensions.JSONSchemaProps)
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&status, internal, nil); err != nil {
		return nil, fmt.Errorf("converting the schema: %w", err)
	}
	made, _, err := validation.NewSchemaValidator(internal)
	return made, err
})
