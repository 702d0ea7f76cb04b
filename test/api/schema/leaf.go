package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/manifests/crd"
)

// Props is a JSON schema as a CRD writes it.
type Props = apiextensionsv1.JSONSchemaProps

// Leaf is a place of a job that holds one value. Its path has [] for an item of a list and {} for a value of a map.
type Leaf struct {
	Path   []string
	Schema *Props
}

func (l Leaf) String() string {
	return strings.Join(l.Path, ".")
}

// Kind returns the type and the format of the leaf, as integer/int32.
func (l Leaf) Kind() string {
	switch {
	case l.Schema.XIntOrString && l.Schema.Pattern != "":
		return "quantity"
	case l.Schema.XIntOrString:
		return "int-or-string"
	}
	return l.Schema.Type + "/" + l.Schema.Format
}

// kinds are those for which the values of Extremes are enough.
var kinds = []string{"quantity", "int-or-string", "integer/int32", "integer/int64", "string/", "string/date-time", "boolean/"}

// Root returns the schema of a job that users install.
func Root() (*Props, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(crd.TrainingJobs, &definition); err != nil {
		return nil, fmt.Errorf("decoding the CRD: %w", err)
	}
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
}

// Leaves returns every leaf below schema. It returns an error for a kind of leaf that it does not know: Extremes may have no value
// that Go cannot decode into it.
func Leaves(schema *Props, path ...string) ([]Leaf, error) {
	below := map[string]Props{}
	maps.Copy(below, schema.Properties)
	if schema.Items != nil {
		below["[]"] = *schema.Items.Schema
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		below["{}"] = *schema.AdditionalProperties.Schema
	}
	if len(path) == 1 && slices.Contains([]string{"apiVersion", "kind", "metadata"}, path[0]) {
		return nil, nil // the API server itself decodes them
	}
	if len(below) == 0 || schema.XPreserveUnknownFields != nil && !keepsUnknown(path) {
		leaf := Leaf{Path: path, Schema: schema}
		if !slices.Contains(kinds, leaf.Kind()) {
			return nil, fmt.Errorf("%s is %s: add values that Go may fail to decode to Extremes, and the kind to kinds", leaf, leaf.Kind())
		}
		return []Leaf{leaf}, nil
	}
	var leaves []Leaf
	for _, name := range slices.Sorted(maps.Keys(below)) {
		field := below[name]
		more, err := Leaves(&field, append(slices.Clone(path), name)...)
		if err != nil {
			return nil, err
		}
		leaves = append(leaves, more...)
	}
	return leaves, nil
}

// keepsUnknown reports whether path is in the operator's memory. Only the operator writes it. Go ignores the fields that it does not
// know, and the schema bounds those that it knows, so that the leaves below are those of any other object.
func keepsUnknown(path []string) bool {
	return len(path) >= len(memory) && slices.Equal(path[:len(memory)], memory)
}

var memory = []string{"status", "memory"}

// Set writes a value, in JSON, to the leaf of a job. What root requires on the way has a plain value unless the job has one.
func (l Leaf) Set(root *Props, job map[string]any, value string) {
	along(root, l.Path, json.RawMessage(value), job)
}

// along returns what is at a path's beginning once the value is at its end.
func along(schema *Props, path []string, value, there any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == "[]" {
		list, isList := there.([]any)
		if !isList {
			list = []any{nil}
		}
		return []any{along(schema.Items.Schema, path[1:], value, list[0])}
	}
	object, isObject := there.(map[string]any)
	if !isObject {
		object = map[string]any{}
	}
	if path[0] == "{}" {
		object["Worker"] = along(schema.AdditionalProperties.Schema, path[1:], value, object["Worker"])
		return object
	}
	required := Plain(schema).(map[string]any)
	maps.Copy(required, object)
	maps.Copy(object, required)
	below := schema.Properties[path[0]]
	object[path[0]] = along(&below, path[1:], value, object[path[0]])
	return object
}

// Plain returns a value that schema accepts.
func Plain(schema *Props) any {
	switch {
	case len(schema.Enum) > 0:
		return json.RawMessage(schema.Enum[0].Raw)
	case schema.XIntOrString || schema.Type == "integer":
		return max(1, int64(ptr.Deref(schema.Minimum, 1)))
	case schema.Type == "boolean":
		return true
	case schema.Type == "array":
		return []any{Plain(schema.Items.Schema)}
	case schema.Format == "date-time":
		return "2026-11-24T08:20:00Z"
	case schema.Type == "string":
		texts := []string{"Worker", "a", "a=b"}
		return texts[max(0, slices.IndexFunc(texts, regexp.MustCompile(schema.Pattern).MatchString))]
	}
	object := map[string]any{}
	if ptr.Deref(schema.MinProperties, 0) > 0 {
		object["Worker"] = Plain(schema.AdditionalProperties.Schema)
	}
	for _, name := range schema.Required {
		field := schema.Properties[name]
		object[name] = Plain(&field)
	}
	return object
}
