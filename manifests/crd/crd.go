// Package crd holds the CustomResourceDefinition of the TrainingJob, for programs that check jobs without a cluster.
package crd

import _ "embed"

// TrainingJobs is trainingjob.dev_trainingjobs.yaml.
//
//go:embed trainingjob.dev_trainingjobs.yaml
var TrainingJobs []byte
