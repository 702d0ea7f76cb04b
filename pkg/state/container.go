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
func MainContainer(pod *corev1.Pod) string { return mainOf(pod.Annotations, pod.Spec.Containers) }

// MainOfTemplate returns the same of the pods of a template.
func MainOfTemplate(template *corev1.PodTemplateSpec) string {
	return mainOf(template.Annotations, template.Spec.Containers)
}

func mainOf(annotations map[string]string, containers []corev1.Container) string {
	if name := annotations[AnnotationMain]; name != "" {
		return name
	}
	if len(containers) == 0 {
		return ""
	}
	return containers[0].Name
}

// containersNotReady is the reason for an unready pod with an unready container. Source: k8s.io/kubernetes/pkg/kubelet/status.
const containersNotReady = "ContainersNotReady"

// noteReadiness notes whether the pod was ready since its main container began, which has ended: its condition has changed since then.
func (p *Pod) noteReadiness(pod *corev1.Pod, ready *corev1.PodCondition) {
	end := mainStatus(pod).State.Terminated
	if p.Exit != nil && p.Exit.Main && end != nil && !end.StartedAt.IsZero() {
		p.Exit.NeverReady = ready.Status == corev1.ConditionFalse && !ready.LastTransitionTime.After(end.StartedAt.Time)
	}
}

// isMainReady reports whether the kubelet calls the main container ready.
func isMainReady(pod *corev1.Pod) bool {
	main := MainContainer(pod)
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == main && c.Ready })
}

// readExits takes over how the pod's containers ended. An init container counts only once the pod has failed of it: before that it
// may be a side-car, which the kubelet restarts.
func (p *Pod) readExits(pod *corev1.Pod) {
	main := MainContainer(pod)
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		if c.State.Terminated == nil || restartsInPlace(pod, c) {
			continue
		}
		exit := exitOf(c)
		switch {
		case exit.Code == 0:
			p.MainSucceeded = p.MainSucceeded || c.Name == main
		case c.Name == main:
			exit.Main = true
			p.Exit = &exit
		default:
			exit.Side = true
			p.SideExits = append(p.SideExits, exit)
		}
	}
	slices.SortStableFunc(p.SideExits, byTime)
	if p.Exit == nil && !p.MainSucceeded && pod.Status.Phase == corev1.PodFailed {
		p.Exit = failedInit(pod)
	}
}

// failedInit returns the end of the init container that failed the pod; nil if there is none.
func failedInit(pod *corev1.Pod) *Exit {
	var failed []Exit
	for i := range pod.Status.InitContainerStatuses {
		if c := &pod.Status.InitContainerStatuses[i]; c.State.Terminated != nil && c.State.Terminated.ExitCode != 0 {
			failed = append(failed, exitOf(c))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	first := slices.MinFunc(failed, byTime)
	return &first
}

func exitOf(c *corev1.ContainerStatus) Exit {
	end := c.State.Terminated
	why := trouble(end.Reason, end.Message, end.FinishedAt.Time)
	return Exit{Container: c.Name, Code: end.ExitCode, Reason: why.Reason, Message: why.Message, Time: why.Time}
}

func byTime(a, b Exit) int { return a.Time.Compare(b.Time) }

// heedSideCars lets the ends of side-cars count that a rule of the job's names: the earliest of them breaks the pod.
func (s *Snapshot) heedSideCars() {
	for i := range s.Pods {
		p := &s.Pods[i]
		for n := range p.SideExits {
			exit := &p.SideExits[n]
			if s.isRuled(exit) && (p.Exit == nil || exit.Time.Before(p.Exit.Time)) {
				p.Exit = exit
				break
			}
		}
	}
}

// isRuled reports whether a rule of recovery.rules names the container and matches how it ended.
func (s *Snapshot) isRuled(exit *Exit) bool {
	return slices.ContainsFunc(s.Job.Spec.Recovery.Rules, func(r v1alpha1.RecoveryRule) bool { return r.ContainerName != "" && exit.Matches(&r) })
}

// Matches reports whether the rule's matchers about a container fit this end. A rule that names no container does not apply to side-cars.
// A nil Exit fits only a rule without such matchers.
func (e *Exit) Matches(r *v1alpha1.RecoveryRule) bool {
	if e == nil {
		return r.ContainerName == "" && len(r.ExitCodes) == 0 && len(r.Signals) == 0
	}
	return (r.ContainerName == e.Container || r.ContainerName == "" && !e.Side) &&
		(len(r.ExitCodes) == 0 || slices.Contains(r.ExitCodes, e.Code)) &&
		(len(r.Signals) == 0 || slices.Contains(r.Signals, e.Signal()))
}

// Signal returns the signal that ended the container, by its exit code; otherwise 0.
func (e *Exit) Signal() int32 {
	if IsSignal(e.Code) {
		return e.Code - 128
	}
	return 0
}

// IsSignal reports whether the exit code is a shell's 128 + signal.
func IsSignal(code int32) bool { return code > 128 && code <= 192 }
