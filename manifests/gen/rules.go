package main

import (
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// rules are what a pod template of a job must be, by the path below a role. The API server checks all rules at each write, also of a status. To read a field, it
// copies the schemas of all its siblings: 40 in a pod's spec. So a rule stands as deep as it can, where it costs nothing if its field is absent.
var rules = map[string]apiextensions.ValidationRule{
	".template.spec": {
		Rule:    "has(self.volumes) || !has(self.containers) || self.containers.all(c, !has(c.volumeMounts))",
		Message: "a container mounts a volume, and the template has none: write template.spec.volumes",
	},
	".template.spec.restartPolicy": {
		Rule:    "self == 'Never'",
		Message: "template.spec.restartPolicy is Never in every pod, because the operator restarts pods: leave it out, and write restartPolicy of the role",
	},
	".template": {
		Rule:    "size(self.?spec.containers.orValue([])) > 0",
		Message: "template.spec.containers is missing: write at least one container with name and image",
	},
	".template.spec.containers[]": {
		Rule:    "size(self.?image.orValue('')) > 0",
		Message: "a container has no image: write template.spec.containers[].image",
	},
	".template.spec.containers[].resources": {
		Rule: "!has(self.requests) || ['nvidia.com/gpu', 'amd.com/gpu'].all(d, !(d in self.requests) ||" +
			" has(self.limits) && d in self.limits && string(self.requests[d]) == string(self.limits[d]))",
		Message: "a container requests GPUs without the same limit: write the GPUs in resources.limits alone",
	},
}

// rule adds the rules of a pod template to it.
func rule(path string, schema *apiextensions.JSONSchemaProps) error {
	if rule, isKnown := rules[strings.TrimPrefix(path, ".spec.replicaSpecs{}")]; isKnown {
		schema.XValidations = append(schema.XValidations, rule)
	}
	return nil
}
