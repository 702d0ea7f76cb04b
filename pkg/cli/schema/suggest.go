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
	"github.com/trainingjob/operator/pkg/job/state"
)

// renamed are fields of Kubeflow's jobs and of Kubernetes' Job that have another name here.
var renamed = map[string]string{
	"backoffLimit": "spec.recovery.maxRestarts", "schedulingPolicy": "spec.scheduling", "elasticPolicy": "spec.elastic",
	"pytorchReplicaSpecs": "spec.replicaSpecs", "tfReplicaSpecs": "spec.replicaSpecs", "mpiReplicaSpecs": "spec.replicaSpecs",
	"xgbReplicaSpecs": "spec.replicaSpecs", "paddleReplicaSpecs": "spec.replicaSpecs", "jaxReplicaSpecs": "spec.replicaSpecs",
	"schedule": "a CronJob that creates the job with kubectl create", "parallelism": "spec.replicaSpecs.Worker.replicas", "completions": "spec.replicaSpecs.Worker.replicas", "spec.replicas": "spec.replicaSpecs.Worker.replicas",
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

// quoted matches a value in the list of those that a field takes, typed the types of one that has another, and bounded the bound that a number exceeds.
var (
	quoted  = regexp.MustCompile(`"([^"]+)"`)
	typed   = regexp.MustCompile(`in body must be of type ([a-z,]+): "([a-z]+)"`)
	bounded = regexp.MustCompile(`in body should be (less|greater) than or equal to (-?\d+)`)
)

// missing is what to write for a required field.
var missing = map[string]string{
	"spec":              "spec, with framework and replicaSpecs",
	"spec.framework":    "one of " + strings.Join(state.Frameworks(), ", "),
	"spec.replicaSpecs": "replicaSpecs: {Worker: {replicas: 4, template: {spec: {containers: [{name: main, image: IMAGE}]}}}}",
	"template":          "template: {spec: {containers: [{name: main, image: IMAGE}]}}",
	"name":              "a name",
	"metadata.name":     "a name",
}

// meantValue returns what to write in place of a wrong or missing value; empty if the error itself has it.
func meantValue(e *field.Error) string {
	last := e.Field[strings.LastIndex(e.Field, ".")+1:]
	types, bound := typed.FindStringSubmatch(e.Detail), bounded.FindStringSubmatch(e.Detail)
	switch {
	case e.Type == field.ErrorTypeRequired:
		return cmp.Or(missing[e.Field], missing[last], "it, as it is required")
	case e.Type == field.ErrorTypeDuplicate:
		return "another name, or leave it out: an item before it has the same"
	case e.Type == field.ErrorTypeNotSupported:
		return supportedValue(e)
	case strings.Contains(e.Field, ".resources.limits.") || strings.Contains(e.Field, ".resources.requests."):
		return "an amount such as 4, 500m or 16Gi, and whole numbers for devices such as GPUs"
	case types != nil:
		return valueOf(types[1], last)
	case bound != nil && bound[1] == "less":
		return "a number up to " + bound[2]
	case bound != nil:
		return "a number from " + bound[2] + " on"
	default:
		return ""
	}
}

// valueOf returns how a value of the type is written, for a field of that name.
func valueOf(kind, name string) string {
	switch {
	case kind == "string":
		return "it in quotes, as a text"
	case kind == "array" && (name == "command" || name == "args"):
		return `a list, such as ["python", "train.py"]`
	case kind == "array":
		return "a list, with - before each item"
	case kind == "object":
		return "fields, as name: value"
	case kind == "integer" && strings.HasSuffix(name, "Seconds"):
		return "a whole number of seconds, such as 3600 for an hour"
	case kind == "integer":
		return "a whole number"
	case kind == "boolean":
		return "true or false"
	default:
		return ""
	}
}

// supportedValue returns the value that a misspelt one of an enum likely means, or else all of them.
func supportedValue(e *field.Error) string {
	var values []string
	for _, found := range quoted.FindAllStringSubmatch(e.Detail, -1) {
		if wrong, isText := e.BadValue.(string); isText && strings.EqualFold(found[1], wrong) {
			return found[1]
		}
		values = append(values, found[1])
	}
	wrong, _ := e.BadValue.(string)
	return cmp.Or(nearest.Name(wrong, values), "one of these values")
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
