// Package schema holds jobs and statuses against the schema of the CRD, as the API server does with each that is written.
//
// Decisions, newest first:
//   - The schema is read from manifests/crd, not built from the Go types: what users install decides.
package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// CheckStatus returns an error that says what the API server would refuse of the status.
func CheckStatus(status *v1alpha1.TrainingJobStatus) error {
	validator, err := validator()
	if err != nil {
		return err
	}
	object, err := decoded(status)
	if err != nil {
		return err
	}
	return validation.ValidateCustomResource(nil, object, validator).ToAggregate()
}

// CheckJob returns an error that says what the API server would refuse of a new job, by schema or by a CEL rule.
func CheckJob(ctx context.Context, job *v1alpha1.TrainingJob) error {
	rules, err := rules()
	if err != nil {
		return err
	}
	object, err := decoded(job)
	if err != nil {
		return err
	}
	delete(object, "status")
	defaulting.Default(object, rules.structural)
	if err := validation.ValidateCustomResource(nil, object, rules.schema).ToAggregate(); err != nil {
		return err
	}
	errs, _ := rules.cel.Validate(ctx, nil, rules.structural, object, nil, budget)
	return errs.ToAggregate()
}

// decoded returns the object as the API server decodes it.
func decoded(from any) (map[string]any, error) {
	text, err := json.Marshal(from)
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	var object map[string]any
	return object, utiljson.Unmarshal(text, &object)
}

// What the API server lets rules cost: one of them, and all together (k8s.io/apiserver/pkg/apis/cel).
const perCall, budget = 1000000, 10000000

// ruleSet is what a job is held against.
type ruleSet struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	cel        *cel.Validator
}

var rules = sync.OnceValues(func() (*ruleSet, error) {
	whole, err := schema()
	if err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(whole)
	if err != nil {
		return nil, err
	}
	made, _, err := validation.NewSchemaValidator(whole)
	return &ruleSet{structural, made, cel.NewValidator(structural, true, perCall)}, err
})

var validator = sync.OnceValues(func() (validation.SchemaValidator, error) {
	whole, err := schema()
	if err != nil {
		return nil, err
	}
	status := whole.Properties["status"]
	made, _, err := validation.NewSchemaValidator(&status)
	return made, err
})

// schema returns that of the CRD.
func schema() (*apiextensions.JSONSchemaProps, error) {
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../manifests/crd/trainingjob.dev_trainingjobs.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the CRD: %w", err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, fmt.Errorf("decoding the CRD: %w", err)
	}
	internal := new(apiextensions.JSONSchemaProps)
	whole := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(whole, internal, nil); err != nil {
		return nil, fmt.Errorf("converting the schema: %w", err)
	}
	return internal, nil
}
