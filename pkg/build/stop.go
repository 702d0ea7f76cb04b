package build

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// stopVolume is the volume of the file of requests to stop.
const stopVolume = "trainingjob-stop"

// asks reports whether the operator requests a checkpoint from the job's healthy ranks before it stops them.
func asks(job *v1alpha1.TrainingJob) bool {
	return job.Spec.Progress != nil && job.Spec.Progress.CheckpointGraceSeconds > 0
}

// showRequests gives every container the file of requests to stop, which the kubelet writes from the pod's annotation. A container that
// has another volume there keeps it.
func showRequests(pod *corev1.PodSpec) {
	folder, file := path.Split(v1alpha1.StopFile)
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: stopVolume, VolumeSource: corev1.VolumeSource{
		DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
			Path: file, FieldRef: metadata("annotations", v1alpha1.AnnotationCheckpointRequest)}}}}})
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			c := &containers[i]
			if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return path.Clean(m.MountPath) == path.Clean(folder) }) {
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: stopVolume, MountPath: path.Clean(folder), ReadOnly: true})
			}
		}
	}
}
