package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// maxListed is how many containers, conditions or devices of a pod are kept: more than pods have that train.
const maxListed = 64

// trimPod returns a pod with only what state.PodOf reads and what finds its job. It shares what the pods of a job have alike: code that reads
// the cache without a copy must change nothing in it.
func (s *shared) trimPod(o any) (any, error) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	kept := []string{v1alpha1.AnnotationTold, v1alpha1.AnnotationLifeNumber, v1alpha1.AnnotationCheckpointRequest}
	if len(pod.Spec.Containers) == 0 || state.MainContainer(pod) != pod.Spec.Containers[0].Name { // else it is the first one without a word
		kept = append(kept, state.AnnotationMain)
	}
	trimmed := &corev1.Pod{
		ObjectMeta: identity(pod, kept...),
		Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName, Containers: s.containersOf(pod), Volumes: claim(pod)},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, NominatedNodeName: words(pod.Status.NominatedNodeName), Reason: words(pod.Status.Reason), Message: message(pod.Status.Message), Conditions: conditions(pod),
			ContainerStatuses:     states(pod.Status.ContainerStatuses, state.MainContainer(pod), isTold(pod)),
			InitContainerStatuses: states(pod.Status.InitContainerStatuses, "", false),
		},
	}
	trimmed.Labels = s.labelsOf(pod)
	return trimmed, nil
}

func words(text string) string { return state.Cut(text, state.MaxWords) }

func message(text string) string { return state.Cut(text, state.MaxMessage) }

// claim returns one of the pod's volumes that may be writable on one node only, if it has one.
func claim(pod *corev1.Pod) []corev1.Volume {
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			return []corev1.Volume{{Name: v.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: v.PersistentVolumeClaim, Ephemeral: ephemeral(v)}}}
		}
	}
	return nil
}

// conditions returns those that a decision may read.
func conditions(pod *corev1.Pod) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for _, c := range pod.Status.Conditions {
		if isTelling(&c) && len(kept) < maxListed {
			kept = append(kept, corev1.PodCondition{
				Type: c.Type, Status: c.Status, Reason: words(c.Reason), Message: message(c.Message), LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	return kept
}

// isTelling reports whether a decision may read the condition: of those that every pod has only that it is ready, and that it has no node.
func isTelling(c *corev1.PodCondition) bool {
	switch c.Type {
	case corev1.PodInitialized, corev1.ContainersReady, corev1.PodReadyToStartContainers:
		return false
	case corev1.PodScheduled:
		return c.Status == corev1.ConditionFalse
	default:
		return true
	}
}

// isTold reports whether the pod can restart in place: then the process and the image matter.
func isTold(pod *corev1.Pod) bool { return pod.Annotations[v1alpha1.AnnotationTold] != "" }

// telling returns the first container, the main one, those that the kubelet starts again in their pod, and all if
// the operator may, with nothing but their names, when, and the image.
func telling(pod *corev1.Pod) []corev1.Container {
	main := state.MainContainer(pod)
	var list []corev1.Container
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		rules := matching(pod, c)
		if i > 0 && c.Name != main && c.RestartPolicy == nil && len(rules) == 0 && !isTold(pod) || len(list) >= maxListed && c.Name != main {
			continue
		}
		told := corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy, RestartPolicyRules: rules}
		if isTold(pod) {
			told.Image = words(c.Image)
		}
		if c.Name == main {
			told.Env = given(c)
		}
		list = append(list, told)
	}
	return list
}

// given returns the names of the variables that say what the pod was made for.
func given(c *corev1.Container) []corev1.EnvVar {
	var kept []corev1.EnvVar
	for _, name := range []string{v1alpha1.EnvProgressLease, v1alpha1.EnvStopFile} {
		if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name }) {
			kept = append(kept, corev1.EnvVar{Name: name})
		}
	}
	return kept
}

// matching returns, of a container that has ended, a rule that has the kubelet start it again after this exit code: a template may have
// thousands of rules, and the others decide nothing.
func matching(pod *corev1.Pod, c *corev1.Container) []corev1.ContainerRestartRule {
	if len(c.RestartPolicyRules) == 0 {
		return nil
	}
	at := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
	if at < 0 || pod.Status.ContainerStatuses[at].State.Terminated == nil {
		return nil
	}
	code := pod.Status.ContainerStatuses[at].State.Terminated.ExitCode
	if !slices.ContainsFunc(c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool { return state.MatchesExit(&r, code) }) {
		return nil
	}
	return []corev1.ContainerRestartRule{{
		Action:    corev1.ContainerRestartRuleActionRestart,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}},
	}}
}

// ephemeral keeps of an ephemeral volume only that it is one.
func ephemeral(v *corev1.Volume) *corev1.EphemeralVolumeSource {
	if v.Ephemeral == nil {
		return nil
	}
	return &corev1.EphemeralVolumeSource{}
}

// states returns the states of the containers, with the named one, and their processes and images if those matter.
func states(full []corev1.ContainerStatus, named string, processes bool) []corev1.ContainerStatus {
	var trimmed []corev1.ContainerStatus
	for i := range full {
		if len(trimmed) >= maxListed && full[i].Name != named {
			continue
		}
		c := corev1.ContainerStatus{
			Name: full[i].Name, State: stateOf(&full[i].State), Ready: full[i].Ready, AllocatedResourcesStatus: broken(full[i].AllocatedResourcesStatus),
		}
		if full[i].LastTerminationState.Terminated != nil {
			c.LastTerminationState.Terminated = ranBefore
		}
		if processes {
			c.ContainerID, c.ImageID = words(full[i].ContainerID), words(full[i].ImageID)
		}
		trimmed = append(trimmed, c)
	}
	return trimmed
}

// ranBefore marks a container that ran before: its former end has no other meaning.
var ranBefore = &corev1.ContainerStateTerminated{}

// stateOf returns the state with as much of its messages as counts.
func stateOf(full *corev1.ContainerState) corev1.ContainerState {
	is := *full
	if wait := full.Waiting; wait != nil {
		is.Waiting = &corev1.ContainerStateWaiting{Reason: words(wait.Reason), Message: message(wait.Message)}
	}
	if end := full.Terminated; end != nil {
		is.Terminated = &corev1.ContainerStateTerminated{ExitCode: end.ExitCode, Reason: words(end.Reason), Message: message(end.Message), StartedAt: end.StartedAt, FinishedAt: end.FinishedAt}
	}
	return is
}

// broken returns the first device that the kubelet calls unhealthy: no decision reads the others.
func broken(full []corev1.ResourceStatus) []corev1.ResourceStatus {
	for _, resource := range full {
		for _, device := range resource.Resources {
			if device.Health == corev1.ResourceHealthStatusUnhealthy {
				return []corev1.ResourceStatus{{Name: resource.Name, Resources: []corev1.ResourceHealth{device}}}
			}
		}
	}
	return nil
}
