package main

import (
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// The API server validates a whole job and compares its templates at each write, a label's included. That takes some 15 microseconds for each
// value below a template, so lists and maps have limits; the rules of TrainingJobSpec limit what all containers have together. These suffice
// for those that have none of their own below.
const (
	maxItems      int64 = 16
	maxProperties int64 = 64
	// maxName is the longest name of a container that Kubernetes accepts: a rule compares the names with an annotation.
	maxName int64 = 63
)

// limits are of lists and maps below a pod template, by the name of the field.
var limits = map[string]int64{
	"containers":         32,  // a pod of a training run has a handful
	"initContainers":     32,  // as containers
	"args":               512, // a launcher that gets every hyperparameter as a flag has some 300
	"command":            512, // as args
	"env":                256, // NCCL, UCX, libfabric and a framework know some 400 variables, of which a job sets a few dozen
	"values":             128, // hosts that a team leaves out; plain strings are the cheapest values
	"annotations":        256, // Kubernetes limits their bytes
	"items":              128, // the files of a ConfigMap, each with a path of its own
	"supplementalGroups": 128, // a user of a large NFS has dozens
	"volumes":            64,  // a node attaches at most 128
	"volumeMounts":       64,  // each container may mount each volume
	"hostAliases":        64,  // the names of a cluster of hosts that no DNS knows
	"tolerations":        64,  // one for each taint: more than a cluster has kinds of nodes
	"add":                64,  // Linux has 41 capabilities
	"drop":               64,  // as add

	// Terms and expressions multiply: 8 terms of 8 expressions each suffice for a pool of nodes of each kind of GPU.
	"nodeSelectorTerms": 8,
	"preferredDuringSchedulingIgnoredDuringExecution": 8,
	"requiredDuringSchedulingIgnoredDuringExecution":  8,
	"matchExpressions": 8,
	"matchFields":      8,
}

// limit bounds the lists and maps of a pod template.
func limit(path string, schema *apiextensions.JSONSchemaProps) error {
	if !strings.Contains(path, ".template.") {
		return nil
	}
	most, isKnown := limits[path[strings.LastIndex(path, ".")+1:]]
	switch {
	case strings.HasSuffix(path, ".spec.containers[].name"):
		schema.MaxLength = new(maxName)
	case schema.Type == "array":
		if !isKnown {
			most = maxItems
		}
		schema.MaxItems = new(most)
	case schema.AdditionalProperties != nil:
		if !isKnown {
			most = maxProperties
		}
		schema.MaxProperties = new(most)
	}
	return nil
}
