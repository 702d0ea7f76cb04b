package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// checkPods returns an error with what the API server accepts of the job and would refuse of its pods: the rules of Kubernetes about devices and
// volumes. Kubernetes has more; a dry run finds these.
func checkPods(spec *v1alpha1.TrainingJobSpec) error {
	var texts []string
	for _, role := range spec.Roles() {
		pod := spec.ReplicaSpecs[role].Template.Spec
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			where := fmt.Sprintf("spec.replicaSpecs.%s, container %s", role, c.Name)
			texts = append(texts, resources(where, &c.Resources)...)
			for _, mount := range c.VolumeMounts {
				if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
					texts = append(texts, fmt.Sprintf("%s mounts the volume %s: write it in template.spec.volumes, or another name in volumeMounts", where, mount.Name))
				}
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// resources returns what is wrong with what a container requests. Only CPUs, memory and other resources of Kubernetes may have a limit above the request.
func resources(where string, r *corev1.ResourceRequirements) (texts []string) {
	isDevice := func(name corev1.ResourceName) bool {
		domain, _, has := strings.Cut(string(name), "/")
		return has && !strings.HasSuffix(domain, "kubernetes.io") || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	}
	for name, request := range r.Requests {
		switch limit, has := r.Limits[name]; {
		case isDevice(name) && (!has || limit.Cmp(request) != 0):
			texts = append(texts, fmt.Sprintf("%s requests %s %s without the same limit: write %[2]s in resources.limits alone", where, name, request.String()))
		case has && limit.Cmp(request) < 0:
			texts = append(texts, fmt.Sprintf("%s requests %s %s and has a limit of %s: write a limit that is not lower", where, name, request.String(), limit.String()))
		}
	}
	for name, limit := range r.Limits {
		if _, hasDomain, _ := strings.Cut(string(name), "/"); hasDomain != "" && isDevice(name) && limit.MilliValue()%1000 != 0 {
			texts = append(texts, fmt.Sprintf("%s has a limit of %s %s: write a whole number, as a device belongs to one container", where, limit.String(), name))
		}
	}
	slices.Sort(texts)
	return texts
}
