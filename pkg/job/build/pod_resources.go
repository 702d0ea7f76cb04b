package build

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

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
			isCounted := func(known string) bool {
				prefix, isPrefix := strings.CutSuffix(known, "*")
				return string(resource) == known || isPrefix && strings.HasPrefix(string(resource), prefix)
			}
			if slices.ContainsFunc(counted, isCounted) {
				uncounted = max(uncounted, quantity.Value())
			}
			if strings.Contains(string(resource), "gpu") {
				gpus = max(gpus, quantity.Value())
			}
		}
	}
	return gpus, uncounted
}

// Requests returns the requests of one replica of the role: the sum over its containers, limits where there are no requests, or the
// request of an init container if that is more.
func Requests(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) corev1.ResourceList {
	template := spec.ReplicaSpecs[role].Template.Spec
	all := corev1.ResourceList{}
	for i := range template.Containers {
		add(all, requests(&template.Containers[i]))
	}
	for i := range template.InitContainers {
		own := requests(&template.InitContainers[i])
		if always := template.InitContainers[i].RestartPolicy; always != nil && *always == corev1.ContainerRestartPolicyAlways {
			add(all, own) // a side-car runs beside the others
			continue
		}
		for name, quantity := range own {
			if has := all[name]; quantity.Cmp(has) > 0 {
				all[name] = quantity
			}
		}
	}
	add(all, template.Overhead)
	return all
}

// requests returns the requests of the container. A limit without a request counts as a request.
func requests(c *corev1.Container) corev1.ResourceList {
	own := corev1.ResourceList{}
	maps.Copy(own, c.Resources.Limits)
	maps.Copy(own, c.Resources.Requests)
	return own
}

func add(to, more corev1.ResourceList) {
	for name, quantity := range more {
		sum := to[name].DeepCopy()
		sum.Add(quantity)
		to[name] = sum
	}
}
