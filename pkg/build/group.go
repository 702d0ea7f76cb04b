package build

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Group returns the pod group as the present attempt's own.
func Group(job *v1alpha1.TrainingJob, group state.Object) state.Object {
	group.SetName(state.GroupNameOf(job))
	group.SetNamespace(job.Namespace)
	group.SetLabels(JobLabels(job))
	group.SetOwnerReferences(Owners(job))
	return group
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
	own := maps.Clone(c.Resources.Limits)
	if own == nil {
		own = corev1.ResourceList{}
	}
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
