package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/framework"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// converge returns the steps from the pods there are to the pods that the status, as read, wants; and the time
// (zero: none) at which more can be done although nothing else happens.
func converge(s *state.Snapshot, ruling policy.Ruling) ([]Step, time.Time) {
	switch ruling {
	case policy.Final:
		return cleanUp(s), time.Time{}
	case policy.Suspend:
		return deletePods(s, policy.EndsWithSuspension, WhySuspended), time.Time{}
	case policy.Continue:
		steps := deletePods(s, func(p state.Pod) bool { return s.IsPast(&p) && !isKept(s, &p) }, WhyPastLife)
		creates, wake := createMissing(s)
		return append(steps, creates...), wake
	default:
		return nil, time.Time{}
	}
}

// cleanUp returns the steps that a finished job's clean-up policy and time to live ask for.
func cleanUp(s *state.Snapshot) []Step {
	if expiry := policy.Expiry(s.Job); !expiry.IsZero() && !s.Now.Before(expiry) {
		return []Step{DeleteJob{UID: s.Job.UID}}
	}
	return deletePods(s, func(p state.Pod) bool {
		switch s.Job.Spec.RunPolicy.CleanPodPolicy {
		case v1alpha1.CleanAll:
			return true
		case v1alpha1.CleanNone:
			return s.IsPast(&p) && p.CanRun()
		default:
			return p.CanRun()
		}
	}, WhyCleanUp)
}

func deletePods(s *state.Snapshot, doomed func(state.Pod) bool, why string) []Step {
	var steps []Step
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Deleted.IsZero() && doomed(*p) {
			steps = append(steps, DeletePod{Name: p.Name, UID: p.UID, Why: why})
		}
	}
	return steps
}

// isKept reports whether a pod of a past life is kept for its log: the one that the latest incident began with.
func isKept(s *state.Snapshot, p *state.Pod) bool {
	return !p.CanRun() && s.Job.Status.FirstFailure != nil && s.Job.Status.FirstFailure.Pod == p.Name
}

// createMissing returns the steps that create the Service and the pods of present lives that are missing and may begin. The
// Service comes first: without it the pods would not find each other.
func createMissing(s *state.Snapshot) (steps []Step, wake time.Time) {
	if s.Refusal != nil && s.Now.Before(s.Refusal.Retry) {
		return nil, s.Refusal.Retry
	}
	if !s.HasService {
		steps = append(steps, CreateService{build.Service(s.Job)})
	}
	if next := s.Job.Status.NextStartTime; next != nil && s.Now.Before(next.Time) {
		return steps, next.Time
	}
	if !attemptMayBegin(s) {
		return steps, time.Time{}
	}
	return append(steps, createPods(s, missingSlots(s))...), time.Time{}
}

func createPods(s *state.Snapshot, missing []state.Slot) []Step {
	if len(missing) == 0 {
		return nil
	}
	var steps []Step
	environment := framework.For(s.Job.Spec.Framework).Environment(s.Job)
	for _, slot := range missing {
		steps = append(steps, CreatePod{build.Pod(s.Job, slot, s.Life(slot), environment(slot))})
	}
	return steps
}

// attemptMayBegin is the fence around an attempt: no pod of an earlier attempt, or of an earlier job of the same name, can still run.
func attemptMayBegin(s *state.Snapshot) bool {
	for i := range s.Pods {
		if s.Pods[i].Life.Attempt < int(s.Job.Status.Attempt) && s.Pods[i].CanRun() {
			return false
		}
	}
	return s.FormerJobPods == 0
}

// missingSlots returns the slots that should have a pod, have none, and whose former pod can no longer run.
func missingSlots(s *state.Snapshot) []state.Slot {
	fenced := map[state.Slot]bool{}
	for i := range s.Pods {
		if p := &s.Pods[i]; s.IsPast(p) && p.CanRun() {
			fenced[p.Slot] = true
		}
	}
	var missing []state.Slot
	for _, slot := range s.Slots() {
		if s.Present(slot) == nil && !s.IsDone(slot) && !fenced[slot] {
			missing = append(missing, slot)
		}
	}
	return missing
}

// isIncomplete reports whether the job lacks a child that it should have by now.
func isIncomplete(s *state.Snapshot) bool {
	return !s.HasService || len(missingSlots(s)) > 0
}

// isFirstRecord reports whether the job has not been taken on before.
func isFirstRecord(s *state.Snapshot) bool {
	return !meta.IsStatusConditionTrue(s.Job.Status.Conditions, v1alpha1.ConditionCreated)
}
