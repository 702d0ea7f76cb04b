package state

import (
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// MaxExcluded is how many nodes a pod excludes at most.
const MaxExcluded = 64

// PodOf returns what the operator knows of a pod of the named job; ok is false if the pod's name is not one
// that the operator gives.
func PodOf(job string, pod *corev1.Pod) (p Pod, ok bool) {
	slot, life, ok := ParsePodName(job, pod.Name)
	if !ok {
		return Pod{}, false
	}
	p = read(pod, stayOf(pod, life))
	p.Slot = slot
	return p, true
}

// GonePodOf returns what the operator knows of a pod of the named job that is gone, by its last version. One that had ended before it was deleted
// stays as it ended. Any other was deleted, and ran until then if it had begun. ok is false for one that never had a node, or whose name is
// not one that the operator gives.
func GonePodOf(job string, pod *corev1.Pod, now time.Time) (p Pod, ok bool) {
	p, ok = PodOf(job, pod)
	if !ok || !p.Scheduled() {
		return Pod{}, false
	}
	if p.Deleted.IsZero() && (p.HasSucceeded() || !p.CanRun()) {
		return p, true
	}
	if p.HasStarted() {
		p.Phase = corev1.PodRunning
	}
	if p.Deleted.IsZero() {
		p.Deleted = now
	}
	return p, true
}

// FormerPodOf returns what the operator knows of a pod without its place in the job: a pod of a job that is gone.
func FormerPodOf(pod *corev1.Pod) Pod { return read(pod, Stay{Created: pod.CreationTimestamp.Time}) }

func read(pod *corev1.Pod, stay Stay) Pod {
	main := MainOf(pod) // the containers that admission adds do not have the operator's variables
	_, isInService := pod.Labels[v1alpha1.LabelJobName]
	p := Pod{
		Name: pod.Name, UID: pod.UID, Version: pod.ResourceVersion, Stay: stay, Number: numberOf(pod.Annotations[v1alpha1.AnnotationLifeNumber]),
		Node: pod.Spec.NodeName, Fenced: !isInService,
		HoldsVolume: slices.ContainsFunc(pod.Spec.Volumes, IsClaim),
		Hears:       main != nil && HasEnv(main.Env, v1alpha1.EnvCheckpointRequestFile), Asked: pod.Annotations[v1alpha1.AnnotationCheckpointRequest],
		Page:   Page{Port: pagePortOf(pod), Address: AddressOf(pod), OnHost: pod.Spec.HostNetwork},
		Checks: checksOf(pod), Run: runOf(pod, &stay), Gate: gateOf(pod, stay.Leaves), Deletion: deletionOf(pod), End: endOf(pod, &stay),
	}
	if names := pod.Annotations[v1alpha1.AnnotationExcludedNodes]; names != "" {
		p.Excludes = strings.SplitN(names, ",", MaxExcluded+1)
		p.Excludes = p.Excludes[:min(len(p.Excludes), MaxExcluded)]
	}
	return p
}

func runOf(pod *corev1.Pod, stay *Stay) Run {
	main := mainStatus(pod)
	isReady := func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && (c.Status == corev1.ConditionTrue || c.Reason == containersNotReady && main.Ready)
	}
	r := Run{
		Phase: podPhase(pod), Ready: !stay.Restarting && slices.ContainsFunc(pod.Status.Conditions, isReady),
		Waiting: waitingFor(pod), Unhealthy: brokenDevice(pod), Conditions: ownConditions(pod),
	}
	switch {
	case main.State.Running != nil:
		r.Began = main.State.Running.StartedAt.Time
	case main.State.Terminated != nil:
		r.Between = restartsInPlace(pod, main.Name, main.State.Terminated.ExitCode)
	default:
		r.Between = main.LastTerminationState.Terminated != nil
	}
	if isGated(pod) {
		r.Between = stay.Restarting
	}
	return r
}

func deletionOf(pod *corev1.Pod) Deletion {
	if pod.DeletionTimestamp == nil {
		return Deletion{}
	}
	grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
	return Deletion{
		Deleted: pod.DeletionTimestamp.Add(-grace), EndsBy: pod.DeletionTimestamp.Time, Finalizers: strings.Join(FirstFinalizers(pod), ", "),
	}
}

// FirstFinalizers returns the pod's finalizers, up to the number that a message names.
func FirstFinalizers(pod *corev1.Pod) []string { return pod.Finalizers[:min(len(pod.Finalizers), 3)] }

// EnvOf returns the value of the variable of that name; empty if there is none.
func EnvOf(env []corev1.EnvVar, name string) string {
	if at := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == name }); at >= 0 {
		return env[at].Value
	}
	return ""
}

// HasEnv reports whether the variables have one of that name.
func HasEnv(env []corev1.EnvVar, name string) bool {
	return slices.ContainsFunc(env, func(v corev1.EnvVar) bool { return v.Name == name })
}

// containers returns the statuses of the pod's containers, init containers first.
func containers(pod *corev1.Pod) iter.Seq[*corev1.ContainerStatus] {
	return func(yield func(*corev1.ContainerStatus) bool) {
		for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// IsClaim reports whether a volume may be writable on one node only. Its access mode is not read: that would take rights
// on claims.
func IsClaim(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }

// everyday are the conditions that every pod has.
var everyday = []corev1.PodConditionType{
	corev1.PodScheduled, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodReadyToStartContainers,
}

func ownConditions(pod *corev1.Pod) []string {
	var types []string
	for _, c := range pod.Status.Conditions {
		if c.Status == corev1.ConditionTrue && !slices.Contains(everyday, c.Type) {
			types = append(types, string(c.Type))
		}
	}
	return types
}

func brokenDevice(pod *corev1.Pod) Trouble {
	for c := range containers(pod) {
		if broken := Broken(c.AllocatedResourcesStatus); broken != nil {
			return trouble(v1alpha1.ReasonDeviceUnhealthy, string(broken[0].Name)+" "+string(broken[0].Resources[0].ResourceID), time.Time{})
		}
	}
	return Trouble{}
}

// Broken returns the first device that the kubelet reports as unhealthy. No decision reads the others.
func Broken(full []corev1.ResourceStatus) []corev1.ResourceStatus {
	for _, resource := range full {
		for _, device := range resource.Resources {
			if device.Health == corev1.ResourceHealthStatusUnhealthy {
				return []corev1.ResourceStatus{{Name: resource.Name, Resources: []corev1.ResourceHealth{device}}}
			}
		}
	}
	return nil
}

// waitingFor returns why the pod has no node, or why the first of its containers that waits does.
func waitingFor(pod *corev1.Pod) Trouble {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return trouble(c.Reason, c.Message, c.LastTransitionTime.Time)
		}
	}
	for c := range containers(pod) {
		if wait := c.State.Waiting; wait != nil {
			return trouble(wait.Reason, wait.Message, time.Time{})
		}
	}
	return Trouble{}
}
