package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// source is a CRD as controller-gen writes it, of the few fields that matter here.
const source = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trainingjobs.trainingjob.dev}
spec:
  group: trainingjob.dev
  names: {kind: TrainingJob, listKind: TrainingJobList, plural: trainingjobs, singular: trainingjob}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            description: spec is ours.
            properties:
              replicaSpecs:
                type: object
                additionalProperties:
                  type: object
                  required: [template]
                  properties:
                    replicas: {type: integer, format: int32, minimum: 0, description: replicas is ours.}
                    template:
                      type: object
                      description: template is ours.
                      properties:
                        metadata:
                          type: object
                          description: not ours
                          properties:
                            labels: {type: object, additionalProperties: {type: string, description: not ours}}
                            finalizers: {type: array, items: {type: string}}
                            namespace: {type: string}
                        spec:
                          type: object
                          description: not ours
                          required: [containers]
                          properties:
                            containers:
                              type: array
                              items: {type: object, description: not ours, required: [name], properties: {name: {type: string}}}
                            port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
`

func generated(t *testing.T) (*apiextensions.CustomResourceDefinition, map[string]any) {
	t.Helper()
	dir := t.TempDir()
	input := filepath.Join(dir, "in.yaml")
	if err := os.WriteFile(input, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := generate(input, dir); err != nil {
		t.Fatal(err)
	}
	crd, err := read(filepath.Join(dir, "crd", "trainingjob.dev_trainingjobs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "schema", "trainingjob.dev_v1alpha1_trainingjob.json"))
	if err != nil {
		t.Fatal(err)
	}
	var editors map[string]any
	if err := json.Unmarshal(data, &editors); err != nil {
		t.Fatal(err)
	}
	return crd, editors
}

func TestTheCRDIsTrimmedBelowThePodTemplateOnly(t *testing.T) {
	crd, _ := generated(t)
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	role := spec.Properties["replicaSpecs"].AdditionalProperties.Schema
	template := role.Properties["template"]
	pod := template.Properties["spec"]

	for what, description := range map[string]string{
		"spec is ours.":     spec.Description,
		"replicas is ours.": role.Properties["replicas"].Description,
		"template is ours.": template.Description,
	} {
		if description != what {
			t.Errorf("description %q became %q", what, description)
		}
	}
	if pod.Description != "" || pod.Properties["containers"].Items.Schema.Description != "" {
		t.Error("a description below the pod template is still there")
	}
	if len(pod.Required) != 0 {
		t.Errorf("template.spec still requires %v", pod.Required)
	}
	if most := pod.Properties["containers"].MaxItems; most == nil || *most != limits["containers"] {
		t.Errorf("containers has maxItems %v, want %d", most, limits["containers"])
	}
	if diff := cmp.Diff([]string{"name"}, pod.Properties["containers"].Items.Schema.Required); diff != "" {
		t.Errorf("a container's required fields (-want +got):\n%s", diff)
	}
	for _, field := range ignored {
		if _, ok := template.Properties["metadata"].Properties[field]; ok {
			t.Errorf("template.metadata.%s is still there", field)
		}
	}
}

func TestTheSchemaForEditorsIsStrictAndKeepsDescriptions(t *testing.T) {
	_, editors := generated(t)
	at := func(path ...string) any {
		var value any = editors
		for _, key := range path {
			value = value.(map[string]any)[key]
		}
		return value
	}
	role := []string{"properties", "spec", "properties", "replicaSpecs", "additionalProperties"}
	pod := slices.Concat(role, []string{"properties", "template", "properties", "spec"})
	for name, c := range map[string]struct{ want, got any }{
		"apiVersion has one value":       {[]any{"trainingjob.dev/v1alpha1"}, at("properties", "apiVersion", "enum")},
		"metadata may have any field":    {nil, at("properties", "metadata", "additionalProperties")},
		"a role refuses unknown fields":  {false, at(append(role, "additionalProperties")...)},
		"containers are required":        {[]any{"containers"}, at(append(pod, "required")...)},
		"descriptions of pods are kept":  {"not ours", at(append(pod, "description")...)},
		"a port is a number or a string": {[]any{"integer", "string"}, at(append(pod, "properties", "port", "type")...)},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnUnknownShapeIsAnError(t *testing.T) {
	if err := trim(&apiextensions.JSONSchemaProps{}); err == nil {
		t.Error("trimming a schema without a pod template succeeded")
	}
}
