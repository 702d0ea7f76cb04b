package cluster

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// maxListed is how many containers, conditions or devices of a pod are kept. Training pods have fewer.
const maxListed = 64

// trimPod returns a pod with only what state.PodOf reads and what identifies its job. Pods of a job share parts of it, so code
// that reads the cache without a copy must not change it.
func (s *shared) trimPod(o any) (any, error) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	kept := []string{v1alpha1.AnnotationInPlaceRestart, v1alpha1.AnnotationStartGate, state.FormerAnnotation, v1alpha1.AnnotationLifeNumber, v1alpha1.AnnotationExcludedNodes, v1alpha1.AnnotationCheckpointRequest}
	if len(pod.Spec.Containers) == 0 || state.MainContainer(pod) != pod.Spec.Containers[0].Name { // else the first container is the main one
		kept = append(kept, state.AnnotationMain)
	}
	var claims []corev1.Volume // of claims it matters only whether there are any
	if slices.ContainsFunc(pod.Spec.Volumes, state.IsClaim) {
		claims = []corev1.Volume{aClaim}
	}
	trimmed := &corev1.Pod{
		ObjectMeta: identity(pod, kept...),
		Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName, HostNetwork: pod.Spec.HostNetwork, ShareProcessNamespace: pod.Spec.ShareProcessNamespace, InitContainers: likeChecks(pod), Containers: s.containersOf(pod), Volumes: claims},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: short(pod.Status.Reason), Message: message(pod.Status.Message), Conditions: conditions(pod),
			ContainerStatuses:     states(pod.Status.ContainerStatuses, state.MainContainer(pod), isRestartable(pod)),
			InitContainerStatuses: states(pod.Status.InitContainerStatuses, "", false),
		},
	}
	trimmed.Labels = s.labelsOf(pod)
	if pod.DeletionTimestamp != nil {
		trimmed.Finalizers = state.FirstFinalizers(pod)
	}
	trimmed.Status.PodIP = state.AddressOf(pod)
	return trimmed, nil
}

// aClaim stands for every volume that may be writable on one node only.
var aClaim = corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}

func short(text string) string { return state.Cut(text, state.MaxWords) }

func message(text string) string { return state.Cut(text, state.MaxMessage) }

// conditions returns the conditions that a decision may read.
func conditions(pod *corev1.Pod) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for _, c := range pod.Status.Conditions {
		if (isRelevant(&c) || isRestartable(pod) && state.IsGutted(c)) && len(kept) < maxListed {
			kept = append(kept, corev1.PodCondition{
				Type: c.Type, Status: c.Status, Reason: short(c.Reason), Message: message(c.Message), LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	return kept
}

// isRelevant reports whether a decision may read the condition. Of the conditions that every pod has, decisions read only that it
// is ready, and that it has no node.
func isRelevant(c *corev1.PodCondition) bool {
	switch c.Type {
	case corev1.PodInitialized, corev1.ContainersReady, corev1.PodReadyToStartContainers:
		return false
	case corev1.PodScheduled:
		return c.Status == corev1.ConditionFalse
	default:
		return true
	}
}

// isRestartable reports whether the pod can be restarted in place. Then the running process and its image matter.
func isRestartable(pod *corev1.Pod) bool {
	return state.InPlaceRestart(pod) != ""
}

// relevantContainers returns the first container, the main one, and those that the kubelet may restart in their pod; if the
// operator may restart the pod, all of them. It keeps their names, restart rules and, if needed, images.
func relevantContainers(pod *corev1.Pod) []corev1.Container {
	main := state.MainContainer(pod)
	var list []corev1.Container
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		rules := matching(pod, c)
		if i > 0 && c.Name != main && c.RestartPolicy == nil && len(rules) == 0 && !isRestartable(pod) || len(list) >= maxListed && c.Name != main {
			continue
		}
		kept := corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy, RestartPolicyRules: rules}
		if isRestartable(pod) {
			kept.Image = short(c.Image)
		}
		if c.Name == main {
			kept.Env, kept.Ports = markersOf(c), portOf(pod)
		}
		list = append(list, kept)
	}
	return list
}

// likeChecks returns the native side-cars that have names of preflight checks. Of other init containers only the statuses matter.
func likeChecks(pod *corev1.Pod) []corev1.Container {
	var list []corev1.Container
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; state.IsLikeCheck(c) && len(list) < maxListed {
			list = append(list, corev1.Container{Name: short(c.Name), RestartPolicy: c.RestartPolicy})
		}
	}
	return list
}

// markersOf returns the variables that show which features the pod was created with. It keeps only their names, and the port of the page.
func markersOf(c *corev1.Container) []corev1.EnvVar {
	var kept []corev1.EnvVar
	if state.HasEnv(c.Env, v1alpha1.EnvCheckpointRequestFile) {
		kept = append(kept, corev1.EnvVar{Name: v1alpha1.EnvCheckpointRequestFile})
	}
	if port := state.EnvOf(c.Env, v1alpha1.EnvProgressPort); port != "" {
		kept = append(kept, corev1.EnvVar{Name: v1alpha1.EnvProgressPort, Value: short(port)})
	}
	return kept
}

// portOf returns the port of the progress page of a pod on the network of its node, if its main container declares it.
func portOf(pod *corev1.Pod) []corev1.ContainerPort {
	port := state.PagePort(pod)
	if port == nil || !pod.Spec.HostNetwork {
		return nil
	}
	return []corev1.ContainerPort{{ContainerPort: port.ContainerPort}}
}

// matching returns one restart rule that matches the exit code of a terminated container; nil if none does. A template may have
// thousands of rules, and the others decide nothing.
func matching(pod *corev1.Pod, c *corev1.Container) []corev1.ContainerRestartRule {
	if len(c.RestartPolicyRules) == 0 {
		return nil
	}
	at := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
	if at < 0 {
		return nil
	}
	status := &pod.Status.ContainerStatuses[at]
	end := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated)
	if end == nil {
		return nil
	}
	code := end.ExitCode
	if !slices.ContainsFunc(c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool { return state.MatchesExit(&r, code) }) {
		return nil
	}
	return []corev1.ContainerRestartRule{{
		Action:    corev1.ContainerRestartRuleActionRestart,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}},
	}}
}

// states returns the states of the containers, the named one among them, and their processes and images if processes is true.
func states(full []corev1.ContainerStatus, named string, processes bool) []corev1.ContainerStatus {
	var trimmed []corev1.ContainerStatus
	for i := range full {
		if len(trimmed) >= maxListed && full[i].Name != named {
			continue
		}
		c := corev1.ContainerStatus{
			Name: full[i].Name, State: stateOf(&full[i].State), Ready: full[i].Ready, AllocatedResourcesStatus: state.Broken(full[i].AllocatedResourcesStatus),
		}
		switch before := full[i].LastTerminationState.Terminated; {
		case before == nil:
		case processes: // it may have ended in the pod's present life
			c.LastTerminationState.Terminated = endOf(before)
			c.LastTerminationState.Terminated.ContainerID = short(before.ContainerID)
		default:
			c.LastTerminationState.Terminated = ranBefore
		}
		if processes {
			c.ContainerID, c.ImageID = short(full[i].ContainerID), short(full[i].ImageID)
		}
		trimmed = append(trimmed, c)
	}
	return trimmed
}

// ranBefore shows that a container ran before. Nothing else of its previous end counts.
var ranBefore = &corev1.ContainerStateTerminated{}

// stateOf returns the state with its messages cut to the length that counts.
func stateOf(full *corev1.ContainerState) corev1.ContainerState {
	is := *full
	if wait := full.Waiting; wait != nil {
		is.Waiting = &corev1.ContainerStateWaiting{Reason: short(wait.Reason), Message: message(wait.Message)}
	}
	if end := full.Terminated; end != nil {
		is.Terminated = endOf(end)
	}
	return is
}

func endOf(full *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		ExitCode: full.ExitCode, Reason: short(full.Reason), Message: message(full.Message), StartedAt: full.StartedAt, FinishedAt: full.FinishedAt,
	}
}
