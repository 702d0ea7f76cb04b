package state

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// End is how a pod has ended, as far as it has: by its containers, its kubelet or a controller. endOf makes it.
type End struct {
	// Exit is the end of the container that decides, with an exit code other than 0, for good; nil if it has not ended so. That is the
	// main container, of a pod that fails before it begins the init container that failed, and of one with rules a side-car (applySideCarRules).
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
	// Rejected is why the pod failed as a whole: Evicted, UnexpectedAdmissionError, PreflightFailed, ...
	Rejected Trouble
	// Disruption is the reason of the DisruptionTarget condition, or of Kueue's: PreemptionByScheduler, EvictionByEvictionAPI, ...
	Disruption Trouble
	// EndSeen is when this process of the operator first saw Exit, Rejected or MainSucceeded; zero without all three.
	EndSeen time.Time
}

// ExplainedWithin is how long a kubelet takes to report the rest of an end. Recorded were 0.2 to 2.8 s on busy nodes, mostly 1 to 2 s.
const ExplainedWithin = 4 * time.Second

// endOf returns how the pod has ended, as its status shows. A kubelet that evicts a pod writes its end in two versions, a second apart at most. A
// controller may end a pod before a kubelet knows it.
//
//	phase     its containers                                 End
//	Running   main 137, and its kubelet starts it again      nothing: the pod goes on
//	Running   main 143, a restart in place is under way      nothing: the process that the pod leaves decides nothing
//	Running   main 1, a side-car runs                        Exit 1
//	Running   main runs, a side-car 1                        SideExits 1
//	Running   main 1, and the gate of the pod is closed      Exit 1
//	Running   main runs again, by its kubelet alone           Exit of the process before
//	Failed    main 0, a side-car 1                           MainSucceeded, SideExits 1
//	Failed    main 137, which its kubelet has lost track of  Exit 137 ContainerStatusUnknown
//	Failed    the same of one that was deleted before it ran NeverRan
//	Failed    init container 2                               Exit 2
//	Failed    preflight check 1                              NeverRan, Rejected PreflightFailed: its node turned it away
//	Failed    none began; status Evicted                     NeverRan, Rejected Evicted
//	Failed    main runs; status Evicted                      Rejected Evicted; the exit is still to come, and the phase counts as Running
//	Failed    main 143; status Evicted                       Rejected Evicted, Exit 143
func endOf(pod *corev1.Pod, stay *Stay) End {
	last, side, all := exitsOf(pod, stay.Leaves)
	isRestarting := stay.Restarting
	e := End{
		SideExits: side, Ended: all && !isRestarting, NeverRan: neverRan(pod), Finished: finishedAt(pod), Rejected: rejected(pod), Disruption: disruption(pod),
	}
	switch {
	case last == nil:
	case last.isOfPreflight(preflightFailed):
		message := strings.TrimSuffix(last.Container+": "+last.Message, ": ")
		e.NeverRan, e.Rejected = true, Trouble{Reason: v1alpha1.ReasonPreflightFailed, Message: message}
	case isRestarting:
	case last.Code == 0:
		e.MainSucceeded = true
	case !e.NeverRan:
		e.Exit = last
		if e.Rejected.Reason == reasonClosed && isGated(pod) { // by the operator, once it had ended
			e.Rejected = Trouble{}
		}
	}
	return e
}

// reasonClosed is the reason of a pod that its kubelet ended for its activeDeadlineSeconds. Source: k8s.io/kubernetes/pkg/kubelet.
const reasonClosed = "DeadlineExceeded"

// applySideCarRules lets the ends of side-cars count that a rule of recovery.rules names: the earliest of them breaks the pod, unless the main
// container has ended with 0.
func (e *End) applySideCarRules(rules []v1alpha1.RecoveryRule) {
	n := slices.IndexFunc(e.SideExits, func(exit Exit) bool {
		return slices.ContainsFunc(rules, func(r v1alpha1.RecoveryRule) bool { return r.ContainerName != "" && exit.Matches(&r) })
	})
	if n >= 0 && !e.MainSucceeded && (e.Exit == nil || e.SideExits[n].Time.Before(e.Exit.Time)) {
		e.Exit = &e.SideExits[n]
	}
}

// podPhase returns the pod's phase; Running for one that is called Failed while a container of it has yet to end.
func podPhase(pod *corev1.Pod) corev1.PodPhase {
	isEnding := func(c corev1.ContainerStatus) bool { // it ran, and its end is not written yet
		return c.State.Running != nil || c.State.Terminated == nil && c.LastTerminationState.Terminated != nil && !waitsWithEnd(pod, &c)
	}
	if pod.Status.Phase == corev1.PodFailed && slices.ContainsFunc(pod.Status.ContainerStatuses, isEnding) {
		return corev1.PodRunning
	}
	return pod.Status.Phase
}

// isEnd reports whether a pod of this phase has ended.
func isEnd(p corev1.PodPhase) bool { return p == corev1.PodSucceeded || p == corev1.PodFailed }

// finishedAt returns when the last container ended; zero unless the pod has finished.
func finishedAt(pod *corev1.Pod) (last time.Time) {
	if !isEnd(pod.Status.Phase) {
		return last
	}
	for c := range containers(pod) {
		if end := c.State.Terminated; end != nil && end.FinishedAt.After(last) {
			last = end.FinishedAt.Time
		}
	}
	return last
}

// neverRan reports whether the pod has failed and no container of it has begun. Of one that was deleted before, what its init containers did
// does not matter.
func neverRan(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodFailed {
		return false
	}
	isDeleted := pod.DeletionTimestamp != nil
	began := func(c corev1.ContainerStatus) bool {
		end := c.State.Terminated
		return c.State.Running != nil || c.LastTerminationState.Terminated != nil || end != nil && (!isDeleted || !isUnknown(end))
	}
	return !slices.ContainsFunc(pod.Status.ContainerStatuses, began) && (isDeleted || !slices.ContainsFunc(pod.Status.InitContainerStatuses, began))
}

// isUnknown reports whether the end is that which a kubelet writes of a container that never began. Of one that it has lost track of it
// writes that it used to be Running.
func isUnknown(end *corev1.ContainerStateTerminated) bool {
	return end.Reason == "ContainerStatusUnknown" && end.FinishedAt.IsZero() && !strings.Contains(end.Message, "used to be Running")
}

// rejected returns why the pod failed as a whole. A pod that failed before it had a node shows the reason in its latest own condition.
func rejected(pod *corev1.Pod) Trouble {
	if pod.Status.Phase != corev1.PodFailed {
		return Trouble{}
	}
	why := trouble(pod.Status.Reason, pod.Status.Message, time.Time{})
	if why.Reason != "" || pod.Spec.NodeName != "" || !neverRan(pod) {
		return why
	}
	for _, c := range pod.Status.Conditions {
		if c.Status == corev1.ConditionTrue && !slices.Contains(everyday, c.Type) && c.Reason != "" {
			return trouble(c.Reason, c.Message, time.Time{})
		}
	}
	return Trouble{Reason: reasonNoNode, Message: "it failed before it had a node"}
}

// reasonNoNode is the reason of a pod that failed without a node and without a reported reason.
const reasonNoNode = "NoNode"

// conditionKueue is what Kueue sets on a pod that it ends.
// Source: sigs.k8s.io/kueue, pkg/operator/controller/tas.
const conditionKueue corev1.PodConditionType = "TerminatedByKueue"

func disruption(pod *corev1.Pod) (why Trouble) {
	for _, c := range pod.Status.Conditions {
		if (c.Type == corev1.DisruptionTarget || c.Type == conditionKueue) && c.Status == corev1.ConditionTrue {
			why = trouble(c.Reason, c.Message, c.LastTransitionTime.Time)
		}
	}
	return why
}
