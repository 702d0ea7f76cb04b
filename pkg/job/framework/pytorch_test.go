package framework_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
)

func TestHowManyProcessesTorchrunStarts(t *testing.T) {
	for _, c := range []struct{ why, resource, quantity, want string }{
		{"torch counts them", "nvidia.com/gpu", "8", "auto"},
		{"torch has AMD's as CUDA devices", "amd.com/gpu", "8", "auto"},
		{"shared ones too", "nvidia.com/gpu.shared", "2", "auto"},
		{"torch's auto does not know Gaudi", "habana.ai/gaudi", "8", "8"},
		{"nor Ascend, of any kind", "huawei.com/Ascend910", "16", "16"},
		{"nor Neuron: a process for each core", "aws.amazon.com/neuroncore", "32", "32"},
		{"a Neuron device has more than one core", "aws.amazon.com/neuron", "16", "1"},
		{"nor Intel's GPUs before torch 2.6", "gpu.intel.com/i915", "4", "4"},
		{"nor those of the newer driver", "gpu.intel.com/xe", "4", "4"},
		{"a process sees one MIG slice only", "nvidia.com/mig-1g.5gb", "4", "1"},
		{"no accelerator", "cpu", "64", "1"},
	} {
		job := newJob(v1alpha1.PyTorch, workers(1), limit(v1alpha1.Worker, corev1.ResourceName(c.resource), c.quantity))
		got := ""
		for _, v := range framework.Environment(job)(state.Slot{Role: v1alpha1.Worker}) {
			if v.Name == "PET_NPROC_PER_NODE" {
				got = v.Value
			}
		}
		if got != c.want {
			t.Errorf("%s %s: PET_NPROC_PER_NODE %q, want %q: %s", c.quantity, c.resource, got, c.want, c.why)
		}
	}
}
