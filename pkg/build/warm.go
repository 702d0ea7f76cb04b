package build

import (
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	// lifeVolume is the volume of the file by which a warm spare is told that it is a replica.
	lifeVolume = "trainingjob-life"
	lifeFile   = "/etc/trainingjob-life/told"
)

// await waits until the file says something. A shell that is the first process of its container ends by a signal only if it asks for it.
const await = `trap 'exit 143' TERM; until [ -s ` + lifeFile + ` ]; do sleep 0.1 || sleep 1; done`

// WarmSpare returns a pod of that name which is a replica of the role in all but that nobody has said which: its init containers run, and then
// one more that waits for that. env is what the job's framework wants the launcher of any replica of the role to read: the pod reads
// the values from annotations that it gets when it becomes a replica (Variables), before its main container starts.
func WarmSpare(job *v1alpha1.TrainingJob, name string, role v1alpha1.Role, env []corev1.EnvVar, avoided state.Avoided) *corev1.Pod {
	pod := podOf(job, name, role)
	maps.Copy(pod.Labels, spareLabels(job, role))
	setPriority(&pod.Spec, job.Spec.ReplicaSpecs[role].Spares.PriorityClassName)
	env = append(identity(job, state.Slot{Role: role}, state.Life{}), env...)
	for i := range env {
		if isSaid(&env[i]) {
			env[i] = fromMetadata(env[i].Name, "annotations", v1alpha1.AnnotationVariable+env[i].Name)
		}
	}
	complete(job, pod, env, avoided)
	awaitLife(pod)
	return pod
}

// Variables returns as annotations the values of the variables of a life of a slot that a warm spare reads when it becomes that.
func Variables(job *v1alpha1.TrainingJob, slot state.Slot, life state.Life, env []corev1.EnvVar) map[string]string {
	values := map[string]string{}
	for _, v := range append(identity(job, slot, life), env...) {
		if isSaid(&v) {
			values[v1alpha1.AnnotationVariable+v.Name] = v.Value
		}
	}
	return values
}

// isSaid reports whether the variable has a value of its own, and not one made of others or of the pod's metadata.
func isSaid(v *corev1.EnvVar) bool { return v.ValueFrom == nil && !strings.Contains(v.Value, "$(") }

// awaitLife adds the container that waits. It is of the main container's image, which so is on the node, and asks for what that has anyway,
// so that the pod's quality of service stays the same.
func awaitLife(pod *corev1.Pod) {
	isMain := func(c corev1.Container) bool { return c.Name == state.MainContainer(pod) }
	main := &pod.Spec.Containers[max(0, slices.IndexFunc(pod.Spec.Containers, isMain))]
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: lifeVolume, VolumeSource: corev1.VolumeSource{
		DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
			Path: path.Base(lifeFile), FieldRef: metadata("annotations", v1alpha1.AnnotationTold)}}}}})
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
		Name: v1alpha1.AwaitContainer, Image: main.Image, ImagePullPolicy: main.ImagePullPolicy, SecurityContext: main.SecurityContext.DeepCopy(),
		Command:      []string{"/bin/sh", "-c", await},
		Resources:    corev1.ResourceRequirements{Requests: ordinary(main.Resources.Requests), Limits: ordinary(main.Resources.Limits)},
		VolumeMounts: []corev1.VolumeMount{{Name: lifeVolume, MountPath: path.Dir(lifeFile), ReadOnly: true}},
	})
}

// ordinary returns the resources that are no devices.
func ordinary(resources corev1.ResourceList) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, quantity := range resources {
		if !strings.Contains(string(name), "/") {
			list[name] = quantity
		}
	}
	return list
}
