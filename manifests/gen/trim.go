package main

import (
	"errors"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ignored are the fields of a template's metadata that do nothing: a job's pods are in the job's namespace,
// and the operator knows no finalizers.
var ignored = []string{"namespace", "finalizers"}

// trim changes the pod template below root as the package comment says. It returns an error if there is none.
func trim(root *apiextensions.JSONSchemaProps) error {
	roles, err := property(root, "spec", "replicaSpecs")
	if err != nil {
		return err
	}
	if roles.AdditionalProperties == nil || roles.AdditionalProperties.Schema == nil {
		return errors.New("spec.replicaSpecs is not a map")
	}
	role := roles.AdditionalProperties.Schema
	template, err := property(role, "template")
	if err != nil {
		return err
	}
	description := template.Description
	err = visit(template, ".template", func(_ string, schema *apiextensions.JSONSchemaProps) error {
		schema.Description = ""
		return nil
	})
	if err != nil {
		return err
	}
	template.Description = description
	spec := template.Properties["spec"]
	spec.Required = slices.DeleteFunc(spec.Required, func(name string) bool { return name == "containers" }) // our CEL rules ask for them
	delete(spec.Properties, "ephemeralContainers")                                                           // Kubernetes does not create a pod that has some
	template.Properties["spec"] = spec
	metadata := template.Properties["metadata"]
	for _, field := range ignored {
		delete(metadata.Properties, field)
	}
	role.Properties["template"] = *template
	return nil
}

// property returns the schema at path. What is behind the first map is shared with the argument.
func property(schema *apiextensions.JSONSchemaProps, path ...string) (*apiextensions.JSONSchemaProps, error) {
	for _, name := range path {
		next, ok := schema.Properties[name]
		if !ok {
			return nil, errors.New("there is no property " + name)
		}
		schema = &next
	}
	return schema, nil
}
