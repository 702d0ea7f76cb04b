package story_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
)

// Under torchrun the code is the rank's, as in the status: its agent ends with 1, whatever the rank did.
func TestTheCodeOfARankUnderTorchrunIsShown(t *testing.T) {
	code := int32(1)
	f := &v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Node: "node-1", ExitCode: &code, Reason: "Error", Cause: v1alpha1.CauseRetryable,
		Message: "killed (torchrun: rank 3 ended with exit code -9)"}
	if got, want := story.WhatBroke(f), "worker-1 on node-1 failed (exit code 137, signal 9, Error, cause Retryable)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
