package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// named are the ends of the paths at which a template names another object, by the kind.
var named = map[string][]string{
	"ConfigMap": {".configMap.name", ".configMapRef.name", ".configMapKeyRef.name"},
	"Secret": {
		".secret.secretName", ".projected.sources[].secret.name", ".secretRef.name", ".secretKeyRef.name", ".nodePublishSecretRef.name", ".imagePullSecrets[].name",
	},
	"PersistentVolumeClaim": {".persistentVolumeClaim.claimName"},
	"ServiceAccount":        {".serviceAccountName"},
	"PriorityClass":         {".priorityClassName"},
}

// fieldSpec is a path of a TrainingJob, as kustomize writes it.
type fieldSpec struct {
	Path  string `json:"path"`
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

// nameReference is where objects of a kind are named.
type nameReference struct {
	Kind       string      `json:"kind"`
	Group      string      `json:"group,omitempty"`
	Version    string      `json:"version"`
	FieldSpecs []fieldSpec `json:"fieldSpecs"`
}

// writeKustomize writes what kustomize needs to know about TrainingJobs: where they name other objects and images, and the keys of their lists.
func writeKustomize(folder string, crd *apiextensions.CustomResourceDefinition) error {
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	paths := map[string][]fieldSpec{}
	err := visit(schema, "", func(path string, _ *apiextensions.JSONSchemaProps) error {
		for kind, ends := range named {
			if slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(path, end) }) {
				paths[kind] = append(paths[kind], specs(path)...)
			}
		}
		if strings.HasSuffix(path, "ontainers[].image") {
			paths["image"] = append(paths["image"], specs(path)...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	config := struct {
		NameReference []nameReference `json:"nameReference"`
		Images        []fieldSpec     `json:"images"`
	}{Images: sorted(paths["image"])}
	for kind := range named {
		reference := nameReference{Kind: kind, Version: "v1", FieldSpecs: sorted(paths[kind])}
		if kind == "PriorityClass" {
			reference.Group = "scheduling.k8s.io"
		}
		config.NameReference = append(config.NameReference, reference)
	}
	slices.SortFunc(config.NameReference, func(a, b nameReference) int { return cmp.Compare(a.Kind, b.Kind) })
	if err := writeYAML(filepath.Join(folder, "configuration.yaml"), config); err != nil {
		return err
	}
	merged := mergeKeys(schema)
	if merged == nil {
		merged = schemaNode{}
	}
	merged["x-kubernetes-group-version-kind"] = []any{schemaNode{"group": crd.Spec.Group, "version": crd.Spec.Versions[0].Name, "kind": crd.Spec.Names.Kind}}
	return writeJSON(filepath.Join(folder, "openapi.json"), schemaNode{"definitions": schemaNode{"dev.trainingjob.v1alpha1.TrainingJob": merged}})
}

// specs returns the path for each role: kustomize has no sign for any key of a map.
func specs(path string) (list []fieldSpec) {
	path = strings.ReplaceAll(strings.TrimPrefix(path, "."), ".", "/")
	for _, role := range v1alpha1.Roles {
		if !strings.Contains(path, "{}") {
			role = ""
		}
		list = append(list, fieldSpec{Path: strings.Replace(path, "{}", "/"+string(role), 1), Group: v1alpha1.Group, Kind: v1alpha1.Kind})
		if role == "" {
			break
		}
	}
	return list
}

func sorted(list []fieldSpec) []fieldSpec {
	slices.SortFunc(list, func(a, b fieldSpec) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// mergeKeys returns the lists of the schema that are merged by a key, and what leads there; nil if there are none.
func mergeKeys(schema *apiextensions.JSONSchemaProps) schemaNode {
	node := schemaNode{}
	fields := schemaNode{}
	for name, field := range schema.Properties {
		if below := mergeKeys(&field); below != nil {
			fields[name] = below
		}
	}
	if len(fields) > 0 {
		node["properties"] = fields
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		if below := mergeKeys(schema.AdditionalProperties.Schema); below != nil {
			node["additionalProperties"] = below
		}
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		below := mergeKeys(schema.Items.Schema)
		if len(schema.XListMapKeys) > 0 {
			node["x-kubernetes-patch-merge-key"], node["x-kubernetes-patch-strategy"] = schema.XListMapKeys[0], "merge"
			if below == nil {
				below = schemaNode{"type": "object"}
			}
		}
		if below != nil {
			node["items"] = below
		}
	}
	if len(node) == 0 {
		return nil
	}
	node["type"] = schema.Type
	return node
}
