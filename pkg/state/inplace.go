package state

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// restartsInPlace reports whether the kubelet starts the ended container again in its pod, as the container's own restart
// policy or rules say. A pod that has ended as a whole starts nothing again.
func restartsInPlace(pod *corev1.Pod, status *corev1.ContainerStatus) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	if slices.ContainsFunc(pod.Status.Conditions, restartsAllContainers) {
		return true
	}
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == status.Name })
	if at < 0 {
		return false
	}
	code := status.State.Terminated.ExitCode
	for i := range pod.Spec.Containers[at].RestartPolicyRules {
		if rule := &pod.Spec.Containers[at].RestartPolicyRules[i]; MatchesExit(rule, code) {
			return true
		}
	}
	switch policy := pod.Spec.Containers[at].RestartPolicy; {
	case policy == nil:
		return false
	case *policy == corev1.ContainerRestartPolicyAlways:
		return true
	default:
		return *policy == corev1.ContainerRestartPolicyOnFailure && code != 0
	}
}

func restartsAllContainers(c corev1.PodCondition) bool {
	return c.Type == corev1.AllContainersRestarting && c.Status == corev1.ConditionTrue
}

// MatchesExit reports whether the rule is about containers that end with this exit code.
func MatchesExit(rule *corev1.ContainerRestartRule, code int32) bool {
	if rule.ExitCodes == nil {
		return false
	}
	in := slices.Contains(rule.ExitCodes.Values, code)
	return in == (rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
}
