package schema_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// stated finds what a field's description says of its changes.
var stated = regexp.MustCompile(`Immutable|[Mm]ay change (at any time|only while suspended)|can be scaled while the job runs`)

// Each field of a spec says, itself or by what it is part of, whether it may change while the job runs. Fields within those that say so for all
// their parts are not looked at.
func TestEachFieldSaysWhenItMayChange(t *testing.T) {
	schema := installed(t).Spec.Validation.OpenAPIV3Schema.Properties["spec"]
	if silent := silentFields("spec", &schema, 3); len(silent) > 0 {
		t.Errorf("these say nothing of whether they may change while the job runs, and when that counts:\n%s", strings.Join(silent, "\n"))
	}
}

// silentFields returns the fields, so many levels deep, that say nothing of their changes.
func silentFields(path string, schema *apiextensions.JSONSchemaProps, levels int) []string {
	if path != "spec" && stated.MatchString(strings.ReplaceAll(schema.Description, "\n", " ")) {
		return nil
	}
	properties := schema.Properties
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		properties = schema.AdditionalProperties.Schema.Properties
	}
	if levels == 0 || len(properties) == 0 {
		return []string{path}
	}
	var silent []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		field := properties[name]
		silent = append(silent, silentFields(path+"."+name, &field, levels-1)...)
	}
	return silent
}
