package state

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

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
func MainOf(pod *corev1.Pod) *corev1.Container { return containerOf(pod, MainContainer(pod)) }

func containerOf(pod *corev1.Pod, name string) *corev1.Container {
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

// A preflight check is an init container named preflight-*. It exits with 0 if the node passed, 1 if the node failed, and 2 if the check
// itself is misconfigured. Every other code counts as the exit of any init container.
// Source: NVIDIA/NVSentinel, ADR-026.
const (
	preflightPrefix        = "preflight-"
	preflightFailed        = 1
	preflightMisconfigured = 2
)

// Checks are the preflight checks of a pod.
type Checks struct {
	// Running is whether a check runs, and Ended whether one has ended.
	Running, Ended bool
	// Took is how long those that ended took.
	Took time.Duration
}

// checksOf reads the pod's preflight checks. The template may have none of them: admission adds some.
func checksOf(pod *corev1.Pod) (checks Checks) {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		isLikeIt := func(s corev1.Container) bool { return s.Name == c.Name && IsLikeCheck(&s) }
		end := c.State.Terminated
		switch {
		case !strings.HasPrefix(c.Name, preflightPrefix) || slices.ContainsFunc(pod.Spec.InitContainers, isLikeIt):
		case c.State.Running != nil:
			checks.Running = true
		case end != nil:
			checks.Ended = true
			if !end.StartedAt.IsZero() {
				checks.Took += max(0, end.FinishedAt.Sub(end.StartedAt.Time))
			}
		}
	}
	return checks
}

// IsLikeCheck reports whether the init container has the name of a preflight check and is none, but a native side-car: the main container does not
// wait for its end.
func IsLikeCheck(c *corev1.Container) bool {
	return strings.HasPrefix(c.Name, preflightPrefix) && ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}
