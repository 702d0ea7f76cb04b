package plan

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
)

// conditions writes the conditions of one status.
type conditions struct {
	s    *state.Snapshot
	next *v1alpha1.TrainingJobStatus
}

func (c conditions) set(kind string, status bool, reason, message string) {
	condition := metav1.Condition{
		Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message,
		ObservedGeneration: c.s.Job.Generation, LastTransitionTime: metav1.NewTime(c.s.Now),
	}
	if status {
		condition.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&c.next.Conditions, condition)
}

// deny makes a true condition false. It adds no condition that was never true.
func (c conditions) deny(kind, reason, message string) {
	if c.isTrue(kind) {
		c.set(kind, false, reason, message)
	}
}

func (c conditions) isTrue(kind string) bool {
	return meta.IsStatusConditionTrue(c.next.Conditions, kind)
}

func setConditions(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v *policy.Verdict) {
	c := conditions{s, next}
	c.set(v1alpha1.ConditionCreated, true, v1alpha1.ReasonJobCreated, "The operator has accepted the job.")
	c.setStalled(v)
	switch v.Kind {
	case policy.Suspend:
		c.set(v1alpha1.ConditionSuspended, true, v.Reason, withLingering(s, v.Message))
		if v.Reason == v1alpha1.ReasonQueued {
			c.set(v1alpha1.ConditionQueued, true, v.Reason, v.Message)
		} else {
			c.deny(v1alpha1.ConditionQueued, v.Reason, v.Message)
		}
		c.rest(v)
	case policy.Succeed:
		c.finish(v1alpha1.ConditionSucceeded, v)
	case policy.Fail:
		c.finish(v1alpha1.ConditionFailed, v)
	default:
		c.deny(v1alpha1.ConditionSuspended, v1alpha1.ReasonResumed, "The job is no longer suspended.")
		c.deny(v1alpha1.ConditionQueued, v1alpha1.ReasonResumed, "The job is admitted.")
		if s.Job.Status.Attempt != next.Attempt {
			// the old pods show nothing about the next attempt
			c.deny(v1alpha1.ConditionScheduled, v.Reason, v.Message)
			c.set(v1alpha1.ConditionRunning, false, v.Reason, v.Message)
			c.set(v1alpha1.ConditionRestarting, true, v.Reason, v.Message)
			meta.RemoveStatusCondition(&c.next.Conditions, v1alpha1.ConditionProgressing)
			break
		}
		c.setScheduled()
		c.setRunning(v)
		c.setProgressing(v)
	}
	slices.SortFunc(next.Conditions, byOrder)
}

// setStalled shows that the job has failed, that the API server refuses a child, or that a pod does not end.
func (c conditions) setStalled(v *policy.Verdict) {
	refusal := c.s.Refusal
	switch {
	case v.Kind == policy.Fail:
		c.set(v1alpha1.ConditionStalled, true, v.Reason, v.Message)
	case refusal != nil && refusal.Reason != "" && v.GoesOn() && isIncomplete(c.s):
		c.set(v1alpha1.ConditionStalled, true, refusal.Reason, state.KeepBeginning(refusal.Message))
	case (v.GoesOn() || v.Kind == policy.Suspend) && stuckMessage(c.s) != "":
		c.set(v1alpha1.ConditionStalled, true, v1alpha1.ReasonPodNotEnding, stuckMessage(c.s))
	default:
		c.deny(v1alpha1.ConditionStalled, v1alpha1.ReasonProceeding, "The job is no longer stalled.")
	}
}

func (c conditions) finish(kind string, v *policy.Verdict) {
	c.rest(v)
	c.deny(v1alpha1.ConditionSuspended, v1alpha1.ReasonResumed, "The job has finished.")
	c.deny(v1alpha1.ConditionQueued, v1alpha1.ReasonResumed, "The job has finished.")
	c.set(kind, true, v.Reason, v.Message)
	c.set(v1alpha1.ConditionFinished, true, v.Reason, v.Message)
}

func (c conditions) rest(v *policy.Verdict) {
	c.deny(v1alpha1.ConditionRunning, v.Reason, v.Message)
	c.deny(v1alpha1.ConditionRestarting, v.Reason, v.Message)
	meta.RemoveStatusCondition(&c.next.Conditions, v1alpha1.ConditionProgressing)
	if v.Kind == policy.Suspend {
		c.deny(v1alpha1.ConditionScheduled, v.Reason, v.Message)
	}
}

// setScheduled sets whether every replica's pod has a node. A scheduled attempt becomes unscheduled again only if the scheduler
// reports that a pod fits nowhere, or a gate keeps one from it. A pod that is just being replaced does not change it.
func (c conditions) setScheduled() {
	if reason, message, waits := whyGangWaits(c.s); waits {
		c.set(v1alpha1.ConditionScheduled, false, reason, state.KeepBeginning(message))
		return
	}
	if first, _ := state.FirstAttempt(c.s.Job); len(c.s.Pods) == 0 && c.next.Attempt == first {
		return
	}
	waits := false
	for r := range c.s.Replicas() {
		isGated := obstacle(c.s, r).Reason == corev1.PodReasonSchedulingGated
		if isGated || r.Pod != nil && r.Pod.Waiting.Reason == v1alpha1.ReasonUnschedulable {
			c.set(v1alpha1.ConditionScheduled, false, r.Pod.Waiting.Reason, state.KeepBeginning(r.Slot.String()+": "+r.Pod.Waiting.Message))
			return
		}
		waits = waits || r.LacksNode()
	}
	switch {
	case !waits:
		c.set(v1alpha1.ConditionScheduled, true, v1alpha1.ReasonAllScheduled, "Every replica's pod has a node.")
	case !c.isTrue(v1alpha1.ConditionScheduled):
		c.set(v1alpha1.ConditionScheduled, false, v1alpha1.ReasonAwaitingScheduler, "Pods wait for the scheduler.")
	}
}

// setRunning sets whether the attempt runs. Replacing a replica does not end it.
func (c conditions) setRunning(v *policy.Verdict) {
	missing, ran := v.BlocksRunning, c.isTrue(v1alpha1.ConditionRunning)
	if v.Asked != nil {
		c.set(v1alpha1.ConditionRunning, true, v.Reason, v.Message)
		return
	}
	if missing == nil {
		reason, message := runningMessage(c.s, v.NotRunning)
		c.set(v1alpha1.ConditionRunning, true, reason, message+notReadyMessage(c.s))
		c.deny(v1alpha1.ConditionRestarting, v1alpha1.ReasonRestarted, "The new attempt runs.")
		if c.next.RunningTime == nil {
			now := metav1.NewTime(c.s.Now)
			c.next.RunningTime = &now
		}
		return
	}
	switch reason, message := whyAbsent(c.s, missing); {
	case ran && reason == v1alpha1.ReasonBackOff:
		c.set(v1alpha1.ConditionRunning, true, reason, "The job continues; "+message)
	case v.Message != "": // the ruling holds the job
		c.set(v1alpha1.ConditionRunning, ran, v.Reason, v.Message)
	case ran:
		message = cmp.Or(message, missing.Slot.String()+" is not running.")
		c.set(v1alpha1.ConditionRunning, true, v1alpha1.ReasonSomeReplicasRunning, withLingering(c.s, "The job continues; "+message))
	case reason != "":
		c.set(v1alpha1.ConditionRunning, false, reason, message)
	default:
		reason, message = whatStarts(c.s, missing)
		c.set(v1alpha1.ConditionRunning, false, reason, message)
	}
}

func (c conditions) setProgressing(v *policy.Verdict) {
	reporter, since := c.s.Reporter(), state.TrueSince(&c.s.Job.Status, v1alpha1.ConditionRunning)
	hasFinished := reporter != nil && reporter.State == state.Succeeded
	switch {
	case !c.isTrue(v1alpha1.ConditionRunning) || c.s.Job.Spec.Progress == nil || hasFinished:
		meta.RemoveStatusCondition(&c.next.Conditions, v1alpha1.ConditionProgressing)
	case v.NoProgress != "":
		c.set(v1alpha1.ConditionProgressing, false, v1alpha1.ReasonProgressStalled, state.KeepBeginning("No progress: "+v.NoProgress+"."))
	case v.Unread != "":
		c.set(v1alpha1.ConditionProgressing, false, v1alpha1.ReasonProgressUnread, state.KeepBeginning("The operator cannot read the progress page: "+v.Unread+"."))
	case !since.IsZero() && c.s.Progress.Renewed.After(since):
		c.set(v1alpha1.ConditionProgressing, true, v1alpha1.ReasonProgressMade, "The training reports in time.")
	}
}

// runningMessage returns the reason and message of a job that runs: all replicas, the admitted ones, or those that an elastic job needs.
func runningMessage(s *state.Snapshot, absent *state.Replica) (reason, message string) {
	admitted, asked, isPartial := state.PartialAdmission(s.Job)
	switch {
	case absent == nil && isPartial:
		return v1alpha1.ReasonPartiallyAdmitted, fmt.Sprintf("All admitted replicas run: the queue has admitted %d of %d workers.", admitted, asked)
	case absent == nil:
		return v1alpha1.ReasonAllReplicasRunning, "All replicas run."
	}
	switch _, why := whyAbsent(s, absent); {
	case !state.IsNeeded(absent.Slot.Role):
		message = "All required replicas are running; " + cmp.Or(why, absent.Slot.String()+" is not running.")
	case why == "" || absent.FitsNowhere(): // which ones wait for room changes, and Scheduled names one
		message = "At least minReplicas workers run."
	default:
		message = "At least minReplicas workers run; " + why
	}
	return v1alpha1.ReasonAllReplicasRunning, message
}

// order is the order in which a job lists its conditions.
var order = []string{
	v1alpha1.ConditionCreated, v1alpha1.ConditionQueued, v1alpha1.ConditionScheduled, v1alpha1.ConditionRunning, v1alpha1.ConditionProgressing, v1alpha1.ConditionRestarting,
	v1alpha1.ConditionSuspended, v1alpha1.ConditionSucceeded, v1alpha1.ConditionFailed, v1alpha1.ConditionFinished, v1alpha1.ConditionStalled,
}

func byOrder(a, b metav1.Condition) int {
	return slices.Index(order, a.Type) - slices.Index(order, b.Type)
}
