package invariant

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// checkSuccesses checks invariant 13: what has succeeded stays so, but for a collective that begins anew as a whole; and truly has.
func (c *Checker) checkSuccesses(h *history, before, after *v1alpha1.TrainingJob) {
	old, memory := memoryOf(before), memoryOf(after)
	resumed := is(before, v1alpha1.ConditionSuspended) && !is(after, v1alpha1.ConditionSuspended)
	again := (before.Status.Attempt != after.Status.Attempt || resumed) && isCollective(&after.Spec)
	for role, m := range old {
		for i := range h.widest {
			slot := state.Slot{Role: role, Index: i}
			had, has := m.Succeeded.Has(i), memory[role].Succeeded.Has(i)
			if had && !has && !again && inRange(after, slot) {
				c.violate("13 success is not lost: %s", slot)
			}
			if !had && has && !h.succeeded(place{slot, lifeIn(before, old, slot)}) {
				c.violate("12 verdicts are earned: %s counts as succeeded", slot)
			}
		}
	}
}

func (h *history) succeeded(p place) bool {
	for _, f := range h.fates[p] {
		if f.exit != nil && *f.exit == 0 || f.succeededLate {
			return true
		}
	}
	return false
}

// checkVerdict checks invariant 12: Succeeded only by the success policy, Failed only with evidence.
func (c *Checker) checkVerdict(h *history, before, after *v1alpha1.TrainingJob) {
	memory := memoryOf(after)
	switch {
	case is(after, v1alpha1.ConditionSucceeded):
		required := requiredForSuccess(after)
		open := slices.DeleteFunc(slices.Clone(required), func(slot state.Slot) bool { return memory[slot.Role].Succeeded.Has(slot.Index) })
		if e := after.Spec.Elastic; e != nil && len(required)-len(open) >= int(e.MinReplicas) { // workers that have not run are not waited for
			open = slices.DeleteFunc(open, func(slot state.Slot) bool {
				return !slices.ContainsFunc(h.fates[place{slot, lifeIn(before, memory, slot)}], func(f *fate) bool { return f.ran })
			})
		}
		if len(open) == len(required) || len(open) > 0 && after.Spec.SuccessPolicy != v1alpha1.SuccessAnyWorker {
			c.violate("12 verdicts are earned: the job succeeded without %s", open)
		}
	case is(after, v1alpha1.ConditionFailed) && after.Status.Reason == v1alpha1.ReasonDeadlineExceeded:
		limit := int64(ptr.Deref(before.Spec.RunPolicy.ActiveDeadlineSeconds, 1<<30)) + after.Status.SuspendedSeconds
		if c.world.Clock.Since(after.Status.StartTime.Time) < time.Duration(limit)*time.Second {
			c.violate("12 verdicts are earned: the job failed of a deadline that is not over")
		}
	case is(after, v1alpha1.ConditionFailed) && after.Status.Reason == v1alpha1.ReasonSchedulingTimeout:
		limit := ptr.Deref(before.Spec.Scheduling.TimeoutSeconds, 1<<30)
		if is(before, v1alpha1.ConditionRunning) || c.world.Clock.Since(after.Status.StartTime.Time) < time.Duration(limit)*time.Second {
			c.violate("12 verdicts are earned: the job failed because its pods waited for room, and it runs, or has waited for less than %d s", limit)
		}
	case is(after, v1alpha1.ConditionFailed):
		c.checkFailed(h, before, after)
	}
}

func (c *Checker) checkFailed(h *history, before, after *v1alpha1.TrainingJob) {
	f := after.Status.LastFailure
	if f == nil {
		c.violate("12 verdicts are earned: the job failed without a failure")
		return
	}
	switch after.Status.Reason {
	case v1alpha1.ReasonMaxRestartsExceeded:
		c.checkPrice(h, before, f)
	case v1alpha1.ReasonNoProgress:
		c.checkStuck(h, before, after)
	}
	if isTimeRanOut(f) {
		c.checkTimeRanOut(before, f)
		return
	}
	c.checkRule(before, f)
	if !c.isEarned(h, before, after.Status.Reason, f) {
		c.violate("12 verdicts are earned: the job failed as %s for %s (%s %s), which did not happen", after.Status.Reason, f.Pod, f.Cause, f.Reason)
	}
}

// isEarned reports whether the pod of a failure truly ended so that the job may fail for that reason. A rule may call any end by another name.
func (c *Checker) isEarned(h *history, before *v1alpha1.TrainingJob, reason string, f *v1alpha1.Failure) bool {
	where, named := placeOf(before.Name, f)
	truly := c.causeOf(h, where, before)
	byRule := isByRule(before, f) && (truly.loss || truly.exit || truly.fatal)
	switch reason {
	case v1alpha1.ReasonFatalExit:
		return named && truly.fatal
	case v1alpha1.ReasonFailJobRule:
		return named && byRule
	case v1alpha1.ReasonMaxRestartsExceeded, v1alpha1.ReasonNoProgress:
		return named && (truly.exit || byRule)
	default:
		return false
	}
}

// requiredForSuccess returns the slots whose success is the job's: all of them, or one under AnyWorker.
func requiredForSuccess(job *v1alpha1.TrainingJob) []state.Slot {
	if job.Spec.SuccessPolicy == v1alpha1.SuccessLeader {
		return []state.Slot{leader(&job.Spec)}
	}
	var all []state.Slot
	for _, role := range job.Spec.Roles() {
		for i := range int(job.Spec.Replicas(role)) {
			if role.IsLeader() || role == v1alpha1.Worker {
				all = append(all, state.Slot{Role: role, Index: i})
			}
		}
	}
	return all
}
