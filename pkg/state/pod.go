package state

import (
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Pod is what the operator knows of one pod of the job.
type Pod struct {
	Name string
	UID  types.UID
	Slot Slot
	Life Life

	Node string
	// Phase is the pod's phase; Running while a container of a pod that is called Failed has yet to end.
	Phase corev1.PodPhase
	// Nominated is whether a node is expected for the pod: an autoscaler makes one, or other pods make way on one.
	Nominated bool
	// Ready is whether the main container is ready and its node has not taken that back. Side-cars do not count.
	Ready bool

	// Created is when the API server accepted the pod, or when the operator started its present life in place.
	Created time.Time
	// Deleted is the time of the request to delete the pod; zero without one. The API server moves it on when the kubelet confirms the
	// deletion.
	Deleted time.Time
	// EndsBy is the end of the grace period of the deletion; zero without one.
	EndsBy time.Time
	// Disruption is the reason of the DisruptionTarget condition, or of Kueue's: PreemptionByScheduler, EvictionByEvictionAPI, ...
	Disruption Trouble
	// Exit is the end of the container that decides, with an exit code other than 0, for good; nil if it has not ended so. That is the
	// main container, and of a pod that fails before it begins the init container that failed.
	Exit *Exit
	// SideExits are such ends of the other containers, earliest first. They break the replica only if a rule names the container.
	SideExits []Exit
	// MainSucceeded is whether the main container has exited with code 0.
	MainSucceeded bool
	// Ended is whether every container has ended for good. The kubelet reports this up to two seconds before the phase.
	Ended bool
	// NeverRan is whether the pod failed before any of its containers ran: it was deleted, its kubelet turned it away, or a controller
	// ended it before it had a node.
	NeverRan bool
	// Finished is when the last container ended; zero unless the pod has finished.
	Finished time.Time
	// Rejected is why the pod failed as a whole: Evicted, UnexpectedAdmissionError, ...
	Rejected Trouble
	// Unhealthy is the broken device of a container.
	Unhealthy Trouble
	// Waiting is why the pod does not run yet: Unschedulable, ImagePullBackOff, ...
	Waiting Trouble
	// Conditions are the types of the pod's own conditions that are True: all but those that every pod has.
	Conditions []string
	// Fenced is whether the pod was taken out of the job's Service.
	Fenced bool
	// Number is the number of the pod's life; 0 if the pod was made by an operator without such numbers.
	Number int64
	// Main is the main container's name, Process its id, and Image its image by digest if it can be started again in its pod. All are
	// empty of pods that are not made for it.
	Main, Process, Image string
	// Restarting is whether the operator has started the present life in place, and the old process may still run.
	Restarting bool
	// Left is whether the operator has started another life in place, and the pod ended without it.
	Left bool
	// RestartRefused is whether the API server has refused to have the pod restarted in place.
	RestartRefused bool
	// Reports is whether the pod was created with the name of the progress Lease, and Hears whether with the file for checkpoint
	// requests: spec.progress may change while it runs.
	Reports, Hears bool
	// Began is when the process of the main container began that runs, by its node's clock; zero if none runs.
	Began time.Time
	// Asked is what the pod's containers find in the file of requests to stop; empty for none.
	Asked string
	// Version is the pod's resourceVersion.
	Version string
	// HoldsVolume is whether the pod mounts a volume that may be writable on one node only: then it is never
	// deleted by force.
	HoldsVolume bool
}

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

// CanRun reports whether a process of the pod may still run.
func (p *Pod) CanRun() bool {
	return p.Phase != corev1.PodSucceeded && p.Phase != corev1.PodFailed
}

// HasStarted reports whether the pod's containers have run in its present life.
func (p *Pod) HasStarted() bool {
	return p.Phase == corev1.PodRunning && !p.Restarting || !p.CanRun() && !p.NeverRan
}

// HasSucceeded reports whether the pod has exited with code 0 by itself. The exit code of a deleted pod shows neither success nor failure.
// The order of exit and deletion is unknown: the API server moves the time of a deletion on when the kubelet confirms it, and the clocks of
// nodes differ. An end before the deletion is already recorded.
//
// A pod whose main container exited with code 0 has succeeded, even if its side-cars still run, and even if the kubelet reports it as failed
// because of a side-car.
func (p *Pod) HasSucceeded() bool {
	byMain := p.MainSucceeded && p.Exit == nil && p.Rejected.Reason == "" && p.Disruption.Reason == ""
	return (p.Phase == corev1.PodSucceeded || byMain) && p.Deleted.IsZero()
}

// Scheduled reports whether the pod has a node.
func (p *Pod) Scheduled() bool { return p.Node != "" }

// PodOf returns what the operator knows of a pod of the named job; ok is false if the pod's name is not one
// that the operator gives.
func PodOf(job string, pod *corev1.Pod) (p Pod, ok bool) {
	slot, life, ok := ParsePodName(job, pod.Name)
	if !ok {
		return Pod{}, false
	}
	p = read(pod)
	p.Slot, p.Life = slot, life
	p.readTold(pod)
	return p, true
}

// SpareOf returns what the operator knows of a placeholder pod of the named job; ok is false for any other pod.
func SpareOf(job string, pod *corev1.Pod) (p Pod, ok bool) {
	slot, ok := ParseSpareName(job, pod.Name)
	if !ok {
		return Pod{}, false
	}
	p = read(pod)
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

// FormerPodOf returns what the operator knows of a pod of a job that is gone, whatever place it had there.
func FormerPodOf(pod *corev1.Pod) Pod { return read(pod) }

// read returns the facts that the pod itself shows.
func read(pod *corev1.Pod) Pod {
	p := Pod{
		Name: pod.Name, UID: pod.UID, Version: pod.ResourceVersion,
		Node: pod.Spec.NodeName, Phase: phaseOf(pod), Nominated: pod.Status.NominatedNodeName != "", NeverRan: neverRan(pod), Rejected: rejected(pod),
		Created: pod.CreationTimestamp.Time, Asked: pod.Annotations[v1alpha1.AnnotationCheckpointRequest],
		Number: numberOf(pod.Annotations[v1alpha1.AnnotationLifeNumber]),
		Ended:  ended(pod), Finished: finished(pod), Waiting: waiting(pod), Unhealthy: unhealthy(pod),
		Conditions: ownConditions(pod), HoldsVolume: slices.ContainsFunc(pod.Spec.Volumes, isClaim),
	}
	p.readExits(pod)
	p.Reports, p.Hears = wasGiven(pod, v1alpha1.EnvProgressLease), wasGiven(pod, v1alpha1.EnvStopFile)
	if running := mainStatus(pod).State.Running; running != nil {
		p.Began = running.StartedAt.Time
	}
	_, reachable := pod.Labels[v1alpha1.LabelJobName]
	p.Fenced = !reachable
	if pod.DeletionTimestamp != nil {
		p.Deleted, p.EndsBy = deletionAsked(pod), pod.DeletionTimestamp.Time
	}
	if p.NeverRan {
		p.Exit = nil
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady:
			p.noteReadiness(pod, &c)
			p.Ready = c.Status == corev1.ConditionTrue || c.Reason == containersNotReady && isMainReady(pod)
		case (c.Type == corev1.DisruptionTarget || c.Type == conditionKueue) && c.Status == corev1.ConditionTrue:
			p.Disruption = trouble(c.Reason, c.Message, c.LastTransitionTime.Time)
		}
	}
	return p
}

// wasGiven reports whether the pod's main container has the variable. The containers that admission adds do not have it.
func wasGiven(pod *corev1.Pod, variable string) bool {
	main := MainContainer(pod)
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == main && slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == variable })
	})
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

// deletionAsked returns the time of the request to delete: deletionTimestamp is the grace period after it.
func deletionAsked(pod *corev1.Pod) time.Time {
	asked := pod.DeletionTimestamp.Time
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		asked = asked.Add(-time.Duration(*grace) * time.Second)
	}
	return asked
}

// finished returns when the last container ended; zero unless the pod has finished.
func finished(pod *corev1.Pod) time.Time {
	var last time.Time
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		return last
	}
	for c := range containers(pod) {
		if end := c.State.Terminated; end != nil && end.FinishedAt.After(last) {
			last = end.FinishedAt.Time
		}
	}
	return last
}

// ended reports whether every container has ended and none is started again in its pod.
func ended(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.State.Terminated == nil || restartsInPlace(pod, c) {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) > 0
}

// isClaim reports whether a volume may be writable on one node only. Its access mode is not read: that would take rights
// on claims.
func isClaim(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }

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
