package forecast

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Forgets returns a warning if no pod of the job mounts a volume for writing that outlives it; empty otherwise. A claim, a network file system,
// a CSI volume and a folder of the node count, also in a side-car.
func Forgets(spec *v1alpha1.TrainingJobSpec) string {
	what := "No volume outlives"
	for _, role := range spec.Roles() {
		pod := spec.ReplicaSpecs[role].Template.Spec
		for i := range pod.Volumes {
			if v := &pod.Volumes[i]; outlives(v) {
				if isWritten(&pod, v) {
					return ""
				}
				what = "No volume that it writes to outlives"
			}
		}
	}
	return what + " a pod: after a restart this training begins at zero, unless it saves to an object store (docs/survive.md)."
}

// writeForgets writes the warning as the last line, if there is one.
func writeForgets(b *strings.Builder, spec *v1alpha1.TrainingJobSpec) {
	if warning := Forgets(spec); warning != "" {
		fmt.Fprintf(b, "  warns   %s\n", warning)
	}
}

// outlives reports whether a volume is still there when its pod is gone: all kinds but those that the kubelet makes for the pod.
func outlives(v *corev1.Volume) bool {
	s := &v.VolumeSource
	return *s != corev1.VolumeSource{} && s.EmptyDir == nil && s.ConfigMap == nil && s.Secret == nil && s.Projected == nil && s.DownwardAPI == nil &&
		s.Ephemeral == nil && s.Image == nil && s.GitRepo == nil
}

// isWritten reports whether a container mounts the volume, and not only to read.
func isWritten(pod *corev1.PodSpec, v *corev1.Volume) bool {
	if c := v.PersistentVolumeClaim; c != nil && c.ReadOnly {
		return false
	}
	return slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name && !m.ReadOnly }) ||
			slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == v.Name })
	})
}
