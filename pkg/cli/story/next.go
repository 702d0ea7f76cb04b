package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// next returns what to do now, best first.
func next(v *View, s *state.Snapshot) []string {
	r, names, list := v.reader(), v.names(s), choose(v, s)
	all := slices.Concat(list...)
	if i := slices.IndexFunc(all, func(s advice.Sentence) bool { return s.Field != "" }); r.Kind != "" && i >= 0 {
		list = append(list, advice.Lacking(all[i].Field))
	}
	var texts []string
	for _, a := range list {
		if text := r.Text(a, names); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// choose returns the advice that the facts call for.
func choose(v *View, s *state.Snapshot) []advice.Advice {
	job := v.Job
	switch {
	case job.DeletionTimestamp != nil, job.Spec.IsManagedElsewhere() && !job.Spec.IsDispatched():
		return nil
	case v.IsStopped:
		return append(afterFailure(v), advice.Stopped)
	case state.ClusterOf(job) != "":
		return []advice.Advice{advice.OtherCluster}
	case job.Status.Phase == "":
		return []advice.Advice{advice.Unseen}
	case isTrue(job, v1alpha1.ConditionFailed):
		return append(afterFailure(v), advice.Finished)
	case isTrue(job, v1alpha1.ConditionSucceeded):
		return nil
	case isInQueue(v):
		return append(advice.Answering(job.Status.Message), advice.Queued)
	case job.Spec.IsSuspended():
		return []advice.Advice{advice.Suspended}
	case isTrue(job, v1alpha1.ConditionStalled):
		stalled := condition(job, v1alpha1.ConditionStalled)
		if list := advice.Answering(stalled.Message, job.Status.Message); len(list) > 0 {
			return list
		}
		return advice.Stalls.For(stalled.Reason)
	default:
		return underWay(v, s)
	}
}

// isInQueue reports whether a queue starts the job, and no user keeps it out. Kueue suspends the Kubeflow job of a served one.
func isInQueue(v *View) bool {
	_, isPaused := v.Job.Annotations[v1alpha1.AnnotationQueuePaused]
	return !isPaused && (isTrue(v.Job, v1alpha1.ConditionQueued) || v.Job.Spec.IsSuspended() && v.Served != nil && v.queue() != "")
}

// underWay returns what to do about a job that has not come to rest.
func underWay(v *View, s *state.Snapshot) []advice.Advice {
	reasons, texts := []string{v.Job.Status.Reason}, []string{}
	for r := range s.Replicas() {
		if r.Pod != nil {
			reasons = append(reasons, r.Pod.Waiting.Reason)
			texts = append(texts, r.Pod.Waiting.Message)
		}
	}
	list := advice.Answering(append(append(texts, v.Job.Status.Message), v.podWarnings()...)...)
	if len(list) == 0 {
		list = advice.Waits.For(reasons...)
	}
	if whatIsHeld(v, s) != "" {
		list = append(list, advice.HeldBack)
	}
	if v.Job.Spec.Elastic != nil && v.Job.Status.Phase == v1alpha1.PhasePending {
		list = append(list, advice.Shrinkable)
	}
	if len(list) > 0 {
		return list
	}
	if stalled := condition(v.Job, v1alpha1.ConditionProgressing); stalled != nil && stalled.Status == "False" {
		if stalled.Reason == v1alpha1.ReasonProgressUnread {
			return []advice.Advice{advice.Unread}
		}
		return []advice.Advice{advice.Causes[v1alpha1.CauseHang]}
	}
	if v.Job.Status.Phase == v1alpha1.PhaseRestarting || v.Job.Status.Reason == v1alpha1.ReasonSomeReplicasRunning {
		return append(afterFailure(v), advice.Restarting)
	}
	if v.MissesHangs() {
		return []advice.Advice{advice.NoProgress}
	}
	return nil
}

// whatIsHeld counts the replicas that run while others fit nowhere, and nothing ends that; empty if there are none.
func whatIsHeld(v *View, s *state.Snapshot) string {
	if scheduling := v.Job.Spec.Scheduling; v.Job.Spec.Elastic != nil || scheduling != nil && (scheduling.Gang != "" || scheduling.TimeoutSeconds != nil) {
		return ""
	}
	running, unplaced := 0, 0
	held := resource.Quantity{}
	for r := range s.Replicas() {
		switch {
		case r.State == state.Running:
			running++
			held.Add(gpusOf(&v.Job.Spec, r.Slot.Role))
		case r.Pod != nil && r.Pod.Waiting.Reason == corev1.PodReasonUnschedulable:
			unplaced++
		}
	}
	if running == 0 || unplaced == 0 || v.Job.Status.Phase != v1alpha1.PhasePending {
		return ""
	}
	what := Count(running, "replica")
	if !held.IsZero() {
		what += " with " + held.String() + " GPUs"
	}
	return what
}

// gpusOf returns how many devices a replica of the role requests.
func gpusOf(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) resource.Quantity {
	sum := resource.Quantity{}
	for _, c := range spec.ReplicaSpecs[role].Template.Spec.Containers {
		for name, amount := range c.Resources.Limits {
			if strings.HasSuffix(string(name), "/gpu") {
				sum.Add(amount)
			}
		}
	}
	return sum
}

// afterFailure returns what to do about the latest failure.
func afterFailure(v *View) []advice.Advice {
	f := v.Job.Status.LastFailure
	list := advice.Failures.For(v.Job.Status.Reason)
	if f == nil {
		return list
	}
	byReason := advice.Failures.For(f.Reason)
	if failure.LastWords(f) == "" && failure.IsOfProgram(f) { // the runtime speaks
		byReason = append(advice.Answering(f.Message), byReason...)
	}
	byMessage := advice.Answering(f.Message)
	switch {
	case f.Reason == v1alpha1.ReasonSchedulingTimeout && len(byMessage) > 0:
		return byMessage
	case failure.IsMisconfiguredCheck(f):
		return append(list, advice.BadCheck)
	case failure.LacksProgram(f):
		return append(list, advice.NoProgram)
	case f.Reason == v1alpha1.ReasonDeadlineExceeded && f.Pod != "": // the kubelet's word for the pod's own
		return []advice.Advice{advice.PodDeadline}
	case failure.MayBeKubelets(&v.Job.Spec, f):
		return append(list, advice.Kubelets, advice.ReadLog)
	case failure.LastWords(f) != "" && advice.AnsweringProgram(v.Line(f)) != nil:
		return append(list, advice.AnsweringProgram(v.Line(f)), advice.ReadLog)
	case len(byReason) > 0:
		return append(list, byReason...)
	case advice.Causes[f.Cause] != nil:
		return append(list, advice.Causes[f.Cause])
	default:
		return append(list, advice.Codes[failure.ExitCode(f)], advice.ReadLog)
	}
}

// names are the values of names in advice: of the replica that matters, and of what the job waits for.
func (v *View) names(s *state.Snapshot) map[string]string {
	slot, pod, node, attempt := state.Leader(&v.Job.Spec), "", "", v.Job.Status.Attempt
	if f := v.Job.Status.LastFailure; f != nil {
		slot, pod, node, attempt = failure.SlotOf(f), f.Pod, f.Node, f.Attempt
	}
	for r := range s.Replicas() {
		if waitsFor(r) != "" {
			slot, pod, node = r.Slot, r.Pod.Name, r.Pod.Node
			break
		}
	}
	if suspect := v.suspect(); pod == "" && suspect != nil {
		pod, node = suspect.Name, suspect.Spec.NodeName
	}
	return map[string]string{
		"pod": cmp.Or(pod, state.PodName(v.Job.Name, slot, s.Life(slot))), "node": node, "rank": fmt.Sprint(state.Rank(&v.Job.Spec, slot)),
		"attempt": fmt.Sprint(attempt), "queue": v.queue(), "cluster": state.ClusterOf(v.Job), "held": whatIsHeld(v, s),
		"least": fmt.Sprint(ptr.Deref(v.Job.Spec.Elastic, v1alpha1.Elastic{}).MinReplicas),
	}
}
