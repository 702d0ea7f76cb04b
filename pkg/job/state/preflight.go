package state

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

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

// IsMisconfiguredCheck reports whether a preflight check ended by its own fault, not by the node's. A nil Exit is none.
func (e *Exit) IsMisconfiguredCheck() bool { return e.isOfPreflight(preflightMisconfigured) }

func (e *Exit) isOfPreflight(code int32) bool {
	return e != nil && !e.Main && !e.Side && e.Code == code && strings.HasPrefix(e.Container, preflightPrefix)
}
