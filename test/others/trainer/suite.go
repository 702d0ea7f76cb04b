//go:build tools

// Package trainer names the end-to-end specs of Kubeflow Trainer, for make test-trainer.
package trainer

import _ "github.com/kubeflow/trainer/v2/test/e2e"
