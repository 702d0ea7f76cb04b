package state

import (
	"slices"
	"strings"

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

// mainOf returns the container that trains; nil if the pod has none of that name.
func mainOf(pod *corev1.Pod) *corev1.Container {
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
	main := MainContainer(&corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec})
	return slices.ContainsFunc(template.Spec.Containers, func(c corev1.Container) bool { return c.Name == main && is(&c) })
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

// readReady reads the condition Ready. If the main container has ended, the condition shows whether it was ever ready: then it has changed
// since the container began.
func (p *Pod) readReady(pod *corev1.Pod, ready *corev1.PodCondition) {
	main := mainStatus(pod)
	p.Ready = ready.Status == corev1.ConditionTrue || ready.Reason == containersNotReady && main.Ready
	if end := main.State.Terminated; p.Exit != nil && p.Exit.Main && end != nil && !end.StartedAt.IsZero() {
		p.Exit.NeverReady = ready.Status == corev1.ConditionFalse && !ready.LastTransitionTime.After(end.StartedAt.Time)
	}
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
	why := trouble(end.Reason, "", end.FinishedAt.Time)
	words := strings.TrimSpace(why.Message + " " + printableLines(Cut(end.Message, MaxMessage)))
	return Exit{Container: c.Name, Code: end.ExitCode, Reason: why.Reason, Message: words, Time: why.Time}
}

func byTime(a, b Exit) int { return a.Time.Compare(b.Time) }

// applySideCarRules lets the ends of side-cars count that a rule of recovery.rules names: the earliest of them breaks the pod, unless the main
// container has ended with 0.
func (s *Snapshot) applySideCarRules() {
	for i := range s.Pods {
		p := &s.Pods[i]
		n := slices.IndexFunc(p.SideExits, func(exit Exit) bool {
			return slices.ContainsFunc(s.Job.Spec.Recovery.Rules, func(r v1alpha1.RecoveryRule) bool { return r.ContainerName != "" && exit.Matches(&r) })
		})
		if n >= 0 && !p.MainSucceeded && (p.Exit == nil || p.SideExits[n].Time.Before(p.Exit.Time)) {
			p.Exit = &p.SideExits[n]
		}
	}
}

// Matches reports whether the rule's matchers about a container fit this end. A rule that names no container does not apply to side-cars, and its codes
// and signals match the main container alone. An init container, and a nil Exit, fit only a rule without them.
func (e *Exit) Matches(r *v1alpha1.RecoveryRule) bool {
	if r.ContainerName == "" && (e == nil || !e.Main && !e.Side) {
		return len(r.ExitCodes) == 0 && len(r.Signals) == 0
	}
	return e != nil && (r.ContainerName == e.Container || r.ContainerName == "" && e.Main) &&
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
