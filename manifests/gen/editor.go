package main

import (
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// schemaNode is one level of a JSON schema.
type schemaNode = map[string]any

// editorSchema returns crd's schema in draft-07, as yaml-language-server and kubeconform read it: unknown
// fields are refused, apiVersion and kind have their one value each, and roles can be completed.
func editorSchema(crd *apiextensions.CustomResourceDefinition) schemaNode {
	version := crd.Spec.Versions[0]
	root := draft07(version.Schema.OpenAPIV3Schema)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = crd.Spec.Names.Kind
	root["required"] = []string{"apiVersion", "kind", "metadata", "spec"}

	fields := root["properties"].(schemaNode)
	fields["apiVersion"].(schemaNode)["enum"] = []string{crd.Spec.Group + "/" + version.Name}
	fields["kind"].(schemaNode)["enum"] = []string{crd.Spec.Names.Kind}
	spec := fields["spec"].(schemaNode)["properties"].(schemaNode)
	spec["replicaSpecs"].(schemaNode)["propertyNames"] = schemaNode{"anyOf": []any{schemaNode{"enum": v1alpha1.Roles}, schemaNode{"pattern": "^[a-z][a-z0-9]{0,14}$"}}}
	return root
}

// draft07 returns schema and everything below it, without what only an API server understands.
func draft07(schema *apiextensions.JSONSchemaProps) schemaNode {
	node := schemaNode{}
	if schema.Description != "" {
		node["description"] = schema.Description
	}
	if schema.Default != nil {
		node["default"] = schema.Default
	}
	if schema.XIntOrString {
		node["type"] = []string{"integer", "string"}
	} else if schema.Type != "" {
		node["type"] = schema.Type
	}
	bounds(node, schema)
	if len(schema.Enum) > 0 {
		node["enum"] = schema.Enum
	}
	if len(schema.Required) > 0 {
		node["required"] = schema.Required
	}
	children(node, schema)
	return node
}

// bounds copies what limits a number, a string, a list or a map.
func bounds(node schemaNode, schema *apiextensions.JSONSchemaProps) {
	set(node, "minimum", schema.Minimum)
	set(node, "maximum", schema.Maximum)
	set(node, "minLength", schema.MinLength)
	set(node, "maxLength", schema.MaxLength)
	set(node, "minItems", schema.MinItems)
	set(node, "maxItems", schema.MaxItems)
	set(node, "minProperties", schema.MinProperties)
	set(node, "maxProperties", schema.MaxProperties)
	if schema.Pattern != "" {
		node["pattern"] = schema.Pattern
	}
}

// set writes *value under key, if there is a value.
func set[T any](node schemaNode, key string, value *T) {
	if value != nil {
		node[key] = *value
	}
}

// children converts what is below schema. An object with named fields has no others.
func children(node schemaNode, schema *apiextensions.JSONSchemaProps) {
	if schema.Items != nil && schema.Items.Schema != nil {
		node["items"] = draft07(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		node["additionalProperties"] = draft07(schema.AdditionalProperties.Schema)
	}
	if len(schema.Properties) == 0 {
		return
	}
	fields := schemaNode{}
	for name, field := range schema.Properties {
		fields[name] = draft07(&field)
	}
	node["properties"] = fields
	node["additionalProperties"] = false
}
