// Package custom is the framework of jobs that bring their own launcher: it adds nothing. Such a job finds its peers
// by TRAININGJOB_*, which build.Pod gives to every replica.
package custom

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Framework is the Custom framework.
type Framework struct{}

// Name returns Custom.
func (Framework) Name() v1alpha1.Framework { return v1alpha1.Custom }

// Environment returns no variables for any replica.
func (Framework) Environment(*v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar {
	return func(state.Slot) []corev1.EnvVar { return nil }
}
