//go:build tools

// Package trainer names the end-to-end specs of Kubeflow Trainer and of JobSet, for make test-trainer.
package trainer

import (
	_ "github.com/kubeflow/trainer/v2/test/e2e"
	_ "sigs.k8s.io/jobset/test/e2e"
)
