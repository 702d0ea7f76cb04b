// Package schema does with a TrainingJob what the API server would: it fills in the defaults, and refuses what the CRD refuses, in the same
// words. It needs no cluster: all rules come from the CRD that this program was built with, and run in the API server's own code.
package schema

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/manifests/crd"
)

// ErrOtherKind is the error about a document that describes something else.
var ErrOtherKind = errors.New("this is no TrainingJob")

// rules are the rules of the CRD for a TrainingJob.
type rules struct {
	structural *structural.Structural
	validator  validation.SchemaValidator
	cel        *cel.Validator
}

// Job returns the job that a document describes, with the defaults of the CRD. It returns an error with all that the API server would
// refuse of it.
func Job(document []byte) (*v1alpha1.TrainingJob, error) {
	r, err := load()
	if err != nil {
		return nil, err
	}
	decode := yaml.YAMLToJSONStrict
	if bytes.Contains(document, []byte("<<:")) { // whose fields may be written over, which the strict one takes for twice
		decode = yaml.YAMLToJSON
	}
	text, err := decode(document)
	if err != nil {
		return nil, fmt.Errorf("this is no YAML: %w", err)
	}
	object := map[string]any{}
	if err := json.Unmarshal(text, &object); err != nil { // whole numbers stay whole, as in the API server
		return nil, errors.New("this is no manifest: write a TrainingJob in YAML or JSON, which begins with its apiVersion and kind")
	}
	switch kind, version := object["kind"], object["apiVersion"]; {
	case kind == nil:
		return nil, fmt.Errorf("%w, and has no kind: write apiVersion: %s, kind: %s", ErrOtherKind, v1alpha1.GroupVersion, v1alpha1.Kind)
	case kind != v1alpha1.Kind:
		return nil, fmt.Errorf("%w, but a %v of %v", ErrOtherKind, kind, version)
	case version != v1alpha1.GroupVersion.String():
		return nil, fmt.Errorf("it has apiVersion %v: write apiVersion: %s", version, v1alpha1.GroupVersion)
	}
	if err := r.check(object); err != nil {
		return nil, err
	}
	job := &v1alpha1.TrainingJob{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, job); err != nil {
		return nil, err
	}
	if job.Name == "" {
		return nil, errors.New("the job has no name: write metadata.name")
	}
	return job, checkPods(&job.Spec)
}

// check fills in the defaults and returns an error with all that is wrong.
func (r *rules) check(object map[string]any) error {
	if err := misspeltRole(object); err != nil {
		return err
	}
	unknown := pruning.PruneWithOptions(object, r.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		return r.unknownFields(unknown)
	}
	defaulting.Default(object, r.structural)
	wrong := validation.ValidateCustomResource(nil, object, r.validator)
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, r.structural, object)...)
	if len(wrong) == 0 { // rules may rely on the types
		more, _ := r.cel.Validate(context.Background(), nil, r.structural, object, nil, celconfig.RuntimeCELCostBudget)
		wrong = append(wrong, more...)
	}
	return sentences(wrong)
}

// sentences returns the errors as one, each with what to write; nil if there are none.
func sentences(wrong field.ErrorList) error {
	var texts []string
	for i, e := range wrong {
		if repeats(wrong, i) {
			continue
		}
		text := strings.TrimPrefix(e.Error(), "<nil>: ") // of rules on the whole object
		switch meant := meantValue(e); {
		case meant == "":
		case e.Type == field.ErrorTypeNotSupported:
			text += ": write " + meant
		case e.Type == field.ErrorTypeRequired:
			text = e.Field + " is missing: write " + meant
		default:
			text = fmt.Sprintf("%s has a wrong value (%v): write %s", e.Field, e.BadValue, meant)
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// repeats reports whether another error shows more: the types that the value may have, or the values.
func repeats(wrong field.ErrorList, i int) bool {
	e := wrong[i]
	return e.Type == field.ErrorTypeInvalid && strings.Contains(e.Detail, "must validate at least one schema") ||
		strings.Contains(e.Detail, "Checked value must be of type") ||
		e.Type == field.ErrorTypeTypeInvalid && slices.ContainsFunc(wrong, func(other *field.Error) bool {
			return other.Field == e.Field && other.Type == field.ErrorTypeNotSupported
		})
}

var load = sync.OnceValues(func() (*rules, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.TrainingJobs, &definition); err != nil {
		return nil, fmt.Errorf("decoding the CRD: %w", err)
	}
	var internal apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(definition.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the CRD's schema: %w", err)
	}
	made, err := structural.NewStructural(&internal)
	if err != nil {
		return nil, fmt.Errorf("reading the CRD's schema: %w", err)
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, fmt.Errorf("reading the CRD's schema: %w", err)
	}
	return &rules{structural: made, validator: validator, cel: cel.NewValidator(made, true, celconfig.PerCallLimit)}, nil
})
