package build

import (
	"cmp"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Spare returns a role's i-th placeholder pod: the shape and images of a replica, without its work. It ends within a second.
func Spare(job *v1alpha1.TrainingJob, role v1alpha1.Role, i int, avoided []string, priorityClass string) *corev1.Pod {
	pod, spares := podOf(job, state.SpareName(job.Name, role, i), role), job.Spec.ReplicaSpecs[role].Spares
	maps.Copy(pod.Labels, map[string]string{
		v1alpha1.LabelJobUID: string(job.UID),
		v1alpha1.LabelSpare:  strings.ToLower(string(role)),
	})
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](leastGrace)
	pod.Spec.Containers = append(pod.Spec.Containers, sideCars(&pod.Spec)...)
	pod.Spec.InitContainers = nil
	for i := range pod.Spec.Volumes { // it must not hold a volume that a replica needs
		if state.IsClaim(pod.Spec.Volumes[i]) {
			pod.Spec.Volumes[i].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		}
	}
	if class := cmp.Or(spares.PriorityClassName, priorityClass); class != "" {
		pod.Spec.PriorityClassName, pod.Spec.Priority, pod.Spec.PreemptionPolicy = class, nil, nil
	}
	command := spares.Command
	if len(command) == 0 {
		command = []string{"sleep", "infinity"}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.Command, c.Args = command, nil
		c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
	}
	avoid(pod, avoided)
	return pod
}

// sideCars returns the init containers that run as long as the pod: they are part of its shape.
func sideCars(spec *corev1.PodSpec) []corev1.Container {
	var list []corev1.Container
	for _, c := range spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			c.RestartPolicy = nil
			list = append(list, c)
		}
	}
	return list
}
