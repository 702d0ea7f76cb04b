package state

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Exit is a container's end.
type Exit struct {
	// Container is its name; Main is whether it is the main one, Side whether it is a side-car.
	Container  string
	Main, Side bool
	Code       int32
	Reason     string
	Message    string
	Time       time.Time
	// NeverReady is whether the pod was not ready at any time since the main container began.
	NeverReady bool
}

// exitsOf returns the end of the container that decides, nil if it has not ended for good; the failures of side-cars, earliest first; and whether
// all have ended for good. An init container decides only once the pod has failed of it: before that it may be a side-car, which the kubelet
// restarts.
func exitsOf(pod *corev1.Pod, left []string) (last *Exit, side []Exit, all bool) {
	main := MainContainer(pod)
	all = len(pod.Status.ContainerStatuses) > 0
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		end := endOfContainer(pod, c, left)
		all = all && end != nil && c.State.Running == nil
		if end == nil {
			continue
		}
		exit := exitOf(c.Name, end)
		switch {
		case c.Name == main:
			exit.Main, exit.NeverReady = true, neverReady(pod, end.StartedAt.Time)
			last = &exit
		case exit.Code != 0:
			exit.Side = true
			side = append(side, exit)
		}
	}
	slices.SortStableFunc(side, func(a, b Exit) int { return a.Time.Compare(b.Time) })
	if last == nil && pod.Status.Phase == corev1.PodFailed {
		last = failedInit(pod)
	}
	return last, side, all
}

// failedInit returns the end of the init container that failed the pod; nil if there is none.
func failedInit(pod *corev1.Pod) *Exit {
	var first *Exit
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		if end := c.State.Terminated; end != nil && end.ExitCode != 0 && (first == nil || end.FinishedAt.Time.Before(first.Time)) {
			exit := exitOf(c.Name, end)
			first = &exit
		}
	}
	return first
}

func exitOf(container string, end *corev1.ContainerStateTerminated) Exit {
	why := trouble(end.Reason, "", end.FinishedAt.Time)
	words := strings.TrimSpace(why.Message + " " + PrintableLines(Cut(end.Message, MaxMessage)))
	return Exit{Container: container, Code: end.ExitCode, Reason: why.Reason, Message: words, Time: why.Time}
}

// neverReady reports whether the condition Ready of a pod whose main container has ended shows that it was never ready: else the condition has changed
// since the container began.
func neverReady(pod *corev1.Pod, began time.Time) bool {
	return !began.IsZero() && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.After(began)
	})
}

// Matches reports whether the rule's matchers about a container fit this end. A rule that names no container does not apply to side-cars, and its codes
// and signals match the main container alone. An init container, and a nil Exit, fit only a rule without them.
func (e *Exit) Matches(r *v1alpha1.RecoveryRule) bool {
	if r.ContainerName == "" && (e == nil || !e.Main && !e.Side) {
		return len(r.ExitCodes) == 0 && len(r.Signals) == 0
	}
	return e != nil && (r.ContainerName == e.Container || r.ContainerName == "" && e.Main) &&
		(len(r.ExitCodes) == 0 || slices.Contains(r.ExitCodes, e.Code)) &&
		(len(r.Signals) == 0 || IsSignal(e.Code) && slices.Contains(r.Signals, e.Code-128))
}

// IsSignal reports whether the exit code is a shell's 128 + signal.
func IsSignal(code int32) bool { return code > 128 && code <= 192 }

// IsMisconfiguredCheck reports whether a preflight check ended by its own fault, not by the node's. A nil Exit is none.
func (e *Exit) IsMisconfiguredCheck() bool { return e.isOfPreflight(preflightMisconfigured) }

func (e *Exit) isOfPreflight(code int32) bool {
	return e != nil && !e.Main && !e.Side && e.Code == code && strings.HasPrefix(e.Container, preflightPrefix)
}
