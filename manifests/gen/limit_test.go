package main

import (
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

func TestLimitsOfATemplate(t *testing.T) {
	list := apiextensions.JSONSchemaProps{Type: "array"}
	table := apiextensions.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{}}
	for path, c := range map[string]struct {
		schema                    apiextensions.JSONSchemaProps
		wantItems, wantProperties int64
	}{
		".spec.template.spec.containers[].env":             {list, 256, -1},
		".spec.template.spec.anythingThatKubernetesMayAdd": {list, maxItems, -1},
		".spec.template.metadata.labels":                   {table, -1, maxProperties},
		".spec.template.metadata.annotations":              {table, -1, 256},
		".spec.template.spec.hostNetwork":                  {apiextensions.JSONSchemaProps{Type: "boolean"}, -1, -1},
		".status.incidents":                                {list, -1, -1},
	} {
		if err := limit(path, &c.schema); err != nil {
			t.Fatal(err)
		}
		if items, properties := ptr.Deref(c.schema.MaxItems, -1), ptr.Deref(c.schema.MaxProperties, -1); items != c.wantItems || properties != c.wantProperties {
			t.Errorf("%s has at most %d items and %d properties, want %d and %d (-1: no limit)", path, items, properties, c.wantItems, c.wantProperties)
		}
	}
}
