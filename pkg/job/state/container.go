package state

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// AnnotationMain names the container that kubectl takes for the pod's own; without it that is the first one. The operator writes it into
// each pod, as admission may put other containers first.
// Source: k8s.io/kubectl/pkg/cmd/util/podcmd.
const AnnotationMain = "kubectl.kubernetes.io/default-container"

// MainContainer returns the name of the container that trains: what it does is what the replica does. The others are side-cars.
func MainContainer(pod *corev1.Pod) string {
	if name := pod.Annotations[AnnotationMain]; name != "" || len(pod.Spec.Containers) == 0 {
		return name
	}
	return pod.Spec.Containers[0].Name
}

// MainOf returns the container that trains; nil if the pod has none of that name.
func MainOf(pod *corev1.Pod) *corev1.Container {
	name := MainContainer(pod)
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	return &pod.Spec.Containers[at]
}

// HasMain reports whether the main container of the role's template is so.
func HasMain(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role, is func(*corev1.Container) bool) bool {
	template := spec.ReplicaSpecs[role].Template
	main := MainOf(&corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec})
	return main != nil && is(main)
}

func mainStatus(pod *corev1.Pod) corev1.ContainerStatus {
	name := MainContainer(pod)
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.Name == name {
			return *c
		}
	}
	return corev1.ContainerStatus{}
}

// containersNotReady is the reason for an unready pod with an unready container. Source: k8s.io/kubernetes/pkg/kubelet/status.
const containersNotReady = "ContainersNotReady"
