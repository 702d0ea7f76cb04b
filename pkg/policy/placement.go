package policy

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// strandedAfter is how long a replica may fit nowhere in the domain of the other replicas.
const strandedAfter = 30 * time.Second

// stranded rules because a replica must be in one domain with others that already have nodes, and fits nowhere there. The
// scheduler moves no pod that has a node, so the job would wait for ever beside a domain with room for all of it. New pods and a
// new group let the scheduler choose again. A job that already runs continues without the replica instead.
func stranded(s *state.Snapshot) (*Ruling, time.Time) {
	if !state.RequiresDomain(&s.Job.Spec) || s.Is(v1alpha1.ConditionRunning) || s.Is(v1alpha1.ConditionSuspended) {
		return nil, time.Time{}
	}
	for r := range s.Replicas() {
		if !r.FitsNowhere() || !state.InDomain(&s.Job.Spec, r.Slot.Role) || !isBoundByOthers(s, r) {
			continue
		}
		if deadline := r.Pod.Waiting.Time.Add(strandedAfter); s.Now.Before(deadline) {
			return nil, deadline
		}
		message := fmt.Sprintf("no node in the domain of the other replicas had room for %v: %s", strandedAfter, state.Quote(r.Pod.Waiting.Message))
		return restartForTime(s, failure.At(s, r, v1alpha1.CauseInfrastructure, v1alpha1.ReasonDomainFull, message)), time.Time{}
	}
	return nil, time.Time{}
}

// isBoundByOthers reports whether another replica of the domain got its node before this pod was created. It continued in its pod
// when the attempt began, was not replaced since, or runs in an older pod, as this pod was recreated in its life.
func isBoundByOthers(s *state.Snapshot, r *state.Replica) bool {
	return s.Any(func(other *state.Replica) bool {
		if !other.HasNode() || !other.NeedsPod() || !state.InDomain(&s.Job.Spec, other.Slot.Role) {
			return false
		}
		isKept := other.Pod.Name != state.PodName(s.Job.Name, other.Slot, other.Life)
		ranBefore := !other.Pod.Began.IsZero() && other.Pod.Created.Before(r.Pod.Created)
		return isKept || ranBefore || other.Life.Before(r.Life)
	})
}

// unplaced rules because the user prefers a failed job to a longer wait for nodes. A running job never fails this way: a replaced
// replica may wait without a limit.
func unplaced(s *state.Snapshot) (*Ruling, time.Time) {
	timeout := schedulingTimeout(s.Job)
	if timeout == nil || s.Is(v1alpha1.ConditionRunning) {
		return nil, time.Time{}
	}
	hadNode := func(r *state.Replica) bool {
		isGated := r.Pod != nil && r.Pod.Waiting.Reason == corev1.PodReasonSchedulingGated && s.NextStart(r.Slot).IsZero() // in its life since a resumption
		return r.Life.Replacement > 0 && !r.FitsNowhere() && !isGated && whyRefused(s, r) == ""
	}
	waits := firstRequiredWithout(s, func(r *state.Replica) bool { return !r.LacksNode() || hadNode(r) })
	if waits == nil {
		return nil, time.Time{}
	}
	deadline := sinceBegin(s, *timeout)
	switch {
	case deadline.IsZero():
		return nil, time.Time{}
	case s.Now.Before(deadline):
		return nil, deadline
	}
	message := "the scheduler gave no reason"
	if refused := whyRefused(s, waits); refused != "" {
		message = refused
	} else if c := meta.FindStatusCondition(s.Job.Status.Conditions, v1alpha1.ConditionScheduled); c != nil && c.Status == metav1.ConditionFalse {
		message = c.Message
	}
	failure := failure.At(s, waits, v1alpha1.CauseStartup, v1alpha1.ReasonSchedulingTimeout, message)
	return fail(&failure, v1alpha1.ReasonSchedulingTimeout, fmt.Sprintf(
		"Not every pod had a node within scheduling.timeoutSeconds (%d): %s", *timeout, state.Quote(message))), time.Time{}
}

func schedulingTimeout(job *v1alpha1.TrainingJob) *int32 {
	if job.Spec.Scheduling == nil {
		return nil
	}
	return job.Spec.Scheduling.TimeoutSeconds
}
