package schema

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/nearest"
)

// renamed are fields of Kubeflow's jobs and of Kubernetes' Job that have another name here.
var renamed = map[string]string{
	"backoffLimit": "spec.recovery.maxRestarts", "schedulingPolicy": "spec.scheduling", "elasticPolicy": "spec.elastic",
	"pytorchReplicaSpecs": "spec.replicaSpecs", "tfReplicaSpecs": "spec.replicaSpecs", "mpiReplicaSpecs": "spec.replicaSpecs",
	"xgbReplicaSpecs": "spec.replicaSpecs", "paddleReplicaSpecs": "spec.replicaSpecs", "jaxReplicaSpecs": "spec.replicaSpecs",
	"parallelism": "spec.replicaSpecs.Worker.replicas", "completions": "spec.replicaSpecs.Worker.replicas", "spec.replicas": "spec.replicaSpecs.Worker.replicas",
}

// unknownFields returns the error about fields that the CRD does not have, each with the one that it likely means.
func (r *rules) unknownFields(paths []string) error {
	var texts []string
	for _, path := range paths {
		text := "unknown field " + path
		if meant := r.meant(path); meant != "" {
			text += ": write " + meant
		}
		texts = append(texts, text)
	}
	return fmt.Errorf("%s", strings.Join(texts, "; "))
}

// meant returns the field that a path likely means: one of another name, one beside it that is spelt alike, or one of that name elsewhere.
func (r *rules) meant(path string) string {
	parts := strings.Split(path, ".")
	name := parts[len(parts)-1]
	if meant := cmp.Or(renamed[path], renamed[name]); meant != "" {
		return meant
	}
	beside := r.structural
	for _, part := range parts[:len(parts)-1] {
		if beside = below(beside, part); beside == nil {
			return ""
		}
	}
	if near := nearest.Name(name, slices.Sorted(maps.Keys(beside.Properties))); near != "" {
		return near
	}
	spec := below(r.structural, "spec")
	for _, part := range slices.Sorted(maps.Keys(spec.Properties)) {
		own := spec.Properties[part]
		if _, has := own.Properties[name]; has {
			return "spec." + part + "." + name
		}
	}
	return ""
}

// quoted matches a value in the list of those that a field takes.
var quoted = regexp.MustCompile(`"([^"]+)"`)

// meantValue returns the value that a misspelt one of an enum likely means; empty if none is like it.
func meantValue(e *field.Error) string {
	wrong, isText := e.BadValue.(string)
	if !isText || e.Type != field.ErrorTypeNotSupported {
		return ""
	}
	var values []string
	for _, found := range quoted.FindAllStringSubmatch(e.Detail, -1) {
		if strings.EqualFold(found[1], wrong) {
			return found[1]
		}
		values = append(values, found[1])
	}
	return nearest.Name(wrong, values)
}

// below returns the schema of a field, an element ("containers[0]") or a value of a map; nil if there is none.
func below(s *structural.Structural, part string) *structural.Structural {
	part, _, isElement := strings.Cut(part, "[")
	next, has := s.Properties[part]
	switch {
	case !has && s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil:
		return s.AdditionalProperties.Structural
	case !has:
		return nil
	case isElement && next.Items != nil:
		return next.Items
	default:
		return &next
	}
}

// roles are those with a meaning for frameworks.
var roles = []string{
	string(v1alpha1.Chief), string(v1alpha1.Master), string(v1alpha1.Launcher), string(v1alpha1.PS), string(v1alpha1.Worker), string(v1alpha1.Evaluator),
}

// misspeltRole returns an error if a role is one of those in another case, or one that no framework has and that is spelt like one.
func misspeltRole(object map[string]any) error {
	spec, _ := object["spec"].(map[string]any)
	specs, _ := spec["replicaSpecs"].(map[string]any)
	for _, role := range slices.Sorted(maps.Keys(specs)) {
		at := slices.IndexFunc(roles, func(known string) bool { return strings.EqualFold(known, role) })
		switch near := nearest.Name(role, roles); {
		case at >= 0 && roles[at] != role:
			return fmt.Errorf("spec.replicaSpecs.%s: write %s", role, roles[at])
		case at < 0 && near != "" && spec["framework"] != string(v1alpha1.Custom):
			return fmt.Errorf("spec.replicaSpecs.%s is no role: write %s", role, near)
		}
	}
	return nil
}
