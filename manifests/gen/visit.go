package main

import apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// visit calls do for schema and for everything below it, with the path of each: .spec.replicaSpecs{}.template.spec.containers[].name.
func visit(schema *apiextensions.JSONSchemaProps, path string, do func(path string, schema *apiextensions.JSONSchemaProps) error) error {
	if err := do(path, schema); err != nil {
		return err
	}
	for name, below := range schema.Properties {
		if err := visit(&below, path+"."+name, do); err != nil {
			return err
		}
		schema.Properties[name] = below
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		if err := visit(schema.Items.Schema, path+"[]", do); err != nil {
			return err
		}
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		return visit(schema.AdditionalProperties.Schema, path+"{}", do)
	}
	return nil
}
