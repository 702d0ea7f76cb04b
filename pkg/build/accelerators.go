package build

import (
	"slices"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// counted are resources for which each unit belongs to one process: resources without gpu in their names, or GPUs that not every
// framework counts. A prefix ends with "*".
var counted = []string{"habana.ai/gaudi", "huawei.com/Ascend*", "aws.amazon.com/neuroncore", "gpu.intel.com/i915", "gpu.intel.com/xe"}

// Accelerators returns how many GPUs a container of the role has at most, by the limits of resources with gpu in their names, and
// how many accelerators that not every framework's own count knows: Gaudi, Ascend and Intel devices and Neuron cores.
func Accelerators(job *v1alpha1.TrainingJob, role v1alpha1.Role) (gpus, uncounted int64) {
	for _, c := range job.Spec.ReplicaSpecs[role].Template.Spec.Containers {
		for resource, quantity := range c.Resources.Limits {
			if slices.ContainsFunc(counted, func(known string) bool { return isNamed(string(resource), known) }) {
				uncounted = max(uncounted, quantity.Value())
			}
			if strings.Contains(string(resource), "gpu") {
				gpus = max(gpus, quantity.Value())
			}
		}
	}
	return gpus, uncounted
}

func isNamed(resource, known string) bool {
	prefix, isPrefix := strings.CutSuffix(known, "*")
	return resource == known || isPrefix && strings.HasPrefix(resource, prefix)
}
