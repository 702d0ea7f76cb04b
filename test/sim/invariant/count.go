package invariant

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// checkCounted : 8, each restart is counted once, with the life that it ends, and truly happened in that life.
func (c *Checker) checkCounted(h *history, before, after *v1alpha1.TrainingJob) {
	was, now := &before.Status, &after.Status
	counted, billed := int(now.Restarts-was.Restarts), int(now.BilledRestarts-was.BilledRestarts)
	ended := c.endedLives(before, after)
	least, most := 0, 0 // how many of the restarts are charged, by what happened
	happened := 0
	switch {
	case was.Attempt != now.Attempt:
		happened = 1
		least, most = c.checkAttempt(h, before, after)
	case is(before, v1alpha1.ConditionSuspended):
		return // resuming gives every slot its next life, and counts nothing that the counters would show
	default:
		happened, least, most = c.checkReplaced(h, before, ended)
	}
	if counted != happened {
		c.violate("8 exactly once: %d restarts are counted, %d happened, in the lives %v", counted, happened, ended)
	}
	if billed < least || billed > most {
		c.violate("8 exactly once: %d restarts are billed, what happened asks for %d to %d", billed, least, most)
	}
}

// endedLives returns the lives of the job's slots that the new status ends, by slot.
func (c *Checker) endedLives(before, after *v1alpha1.TrainingJob) []place {
	var ended []place
	old, memory := memoryOf(before), memoryOf(after)
	for _, role := range v1alpha1.Roles {
		for i := range int(before.Spec.Replicas(role)) {
			slot := state.Slot{Role: role, Index: i}
			if life := lifeIn(before, old, slot); life != lifeIn(after, memory, slot) {
				ended = append(ended, place{slot, life})
			}
		}
	}
	return ended
}

// checkReplaced holds replaced slots, by the scope of each, against what happened to them.
func (c *Checker) checkReplaced(h *history, job *v1alpha1.TrainingJob, ended []place) (happened, least, most int) {
	roles := map[v1alpha1.Role]bool{}
	for _, p := range ended {
		scope := policy.ScopeOf(&job.Spec, p.slot.Role, p.slot.Index)
		if scope == v1alpha1.ScopeRole && roles[p.slot.Role] {
			continue
		}
		cause := h.causeOf(p, job)
		if scope == v1alpha1.ScopeRole {
			roles[p.slot.Role] = true
			cause = h.anyCause(ended, p.slot.Role, job)
		}
		if scope == v1alpha1.ScopeJob {
			c.violate("8 exactly once: %v is replaced alone, its scope is Job", p)
		}
		if cause == (causes{}) {
			c.violate("8 exactly once: %v is restarted for a failure that did not happen", p)
		}
		if cause.fatal && !cause.infrastructure && !cause.retryable && p.slot.Role != v1alpha1.Evaluator {
			c.violate("12 verdicts are earned: the permanent exit of %v is restarted", p)
		}
		happened++
		if cause.retryable && p.slot.Role != v1alpha1.Evaluator {
			most++
			if !cause.infrastructure {
				least++
			}
		}
	}
	return happened, least, most
}

// checkAttempt holds a whole-job restart against the failure that it names.
func (c *Checker) checkAttempt(h *history, before, after *v1alpha1.TrainingJob) (least, most int) {
	f := after.Status.FirstFailure
	if f == nil {
		c.violate("8 exactly once: attempt %d begins without a failure", after.Status.Attempt)
		return 0, 1
	}
	if f.Cause == v1alpha1.CauseStartup {
		limit := before.Spec.RunPolicy.StartupDeadlineSeconds
		if limit == nil || c.world.Clock.Since(before.Status.StartTime.Time) < time.Duration(*limit)*time.Second {
			c.violate("12 verdicts are earned: attempt %d begins because of a deadline that is not over", after.Status.Attempt)
		}
		return 1, 1
	}
	slot := state.Slot{Role: f.Role, Index: int(f.Index)}
	where := place{slot, lifeIn(before, memoryOf(before), slot)}
	cause := h.causeOf(where, before)
	switch {
	case f.Cause == v1alpha1.CauseInfrastructure && cause.infrastructure:
		return 0, 0
	case f.Cause == v1alpha1.CauseRetryable && cause.retryable:
		return 1, 1
	case f.Cause == v1alpha1.CauseFatal:
		c.violate("12 verdicts are earned: the permanent exit of %v is restarted", where)
	default:
		c.violate("8 exactly once: the job restarts because %v broke of cause %s (%s), which did not happen", where, f.Cause, f.Reason)
	}
	return 0, 1
}

// causes are the causes of which a life can be said to have broken.
type causes struct{ infrastructure, retryable, fatal bool }

// causeOf returns of which causes the life can be said to have broken, by what truly happened to its pods.
func (h *history) causeOf(p place, job *v1alpha1.TrainingJob) causes {
	var all causes
	always := job.Spec.ReplicaSpecs[p.slot.Role].RestartPolicy == v1alpha1.RestartAlways
	for _, f := range h.fates[p] {
		// gone after it had ended: who saw only that could not know
		all.infrastructure = all.infrastructure || f.lost || f.touched && f.exit != nil
		if f.exit == nil || *f.exit == 0 && !always {
			continue
		}
		if isPermanent(*f.exit, job.Spec.ReplicaSpecs[p.slot.Role].RestartPolicy) {
			all.fatal = true
		} else {
			all.retryable = true
		}
	}
	return all
}

func (h *history) anyCause(ended []place, role v1alpha1.Role, job *v1alpha1.TrainingJob) causes {
	var all causes
	for _, p := range ended {
		if p.slot.Role == role {
			one := h.causeOf(p, job)
			all = causes{all.infrastructure || one.infrastructure, all.retryable || one.retryable, all.fatal || one.fatal}
		}
	}
	return all
}

// isPermanent says it as docs/restarts.md does.
func isPermanent(code int32, restart v1alpha1.RestartPolicy) bool {
	switch {
	case restart == v1alpha1.RestartNever || code == 93 || code == 126 || code == 127:
		return true
	case restart == v1alpha1.RestartExitCode:
		return code <= 128 || code > 192 || code == 139
	default:
		return false
	}
}

// checkSuccesses : 13, what has succeeded stays so, but for a collective that restarts as a whole; and truly has.
func (c *Checker) checkSuccesses(h *history, before, after *v1alpha1.TrainingJob) {
	old, memory := memoryOf(before), memoryOf(after)
	again := before.Status.Attempt != after.Status.Attempt && policy.IsCollective(&after.Spec)
	for role, m := range old {
		for i := range h.widest {
			slot := state.Slot{Role: role, Index: i}
			had, has := m.Succeeded.Has(i), memory[role].Succeeded.Has(i)
			if had && !has && !again {
				c.violate("13 success is not lost: %s", slot)
			}
			if !had && has && !h.succeeded(place{slot, lifeIn(before, old, slot)}) {
				c.violate("12 verdicts are earned: %s is said to have succeeded", slot)
			}
		}
	}
}

func (h *history) succeeded(p place) bool {
	for _, f := range h.fates[p] {
		if f.exit != nil && *f.exit == 0 {
			return true
		}
	}
	return false
}

// checkVerdict : 12, Succeeded only by the success policy, Failed only with evidence.
func (c *Checker) checkVerdict(h *history, before, after *v1alpha1.TrainingJob) {
	memory := memoryOf(after)
	switch {
	case is(after, v1alpha1.ConditionSucceeded):
		for _, slot := range awaited(after) {
			if !memory[slot.Role].Succeeded.Has(slot.Index) {
				c.violate("12 verdicts are earned: the job succeeded without %s", slot)
			}
		}
	case is(after, v1alpha1.ConditionFailed) && after.Status.Reason == v1alpha1.ReasonDeadlineExceeded:
		limit := ptr.Deref(before.Spec.RunPolicy.ActiveDeadlineSeconds, 1<<30) + after.Status.SuspendedSeconds
		if c.world.Clock.Since(after.Status.StartTime.Time) < time.Duration(limit)*time.Second {
			c.violate("12 verdicts are earned: the job failed of a deadline that is not over")
		}
	case is(after, v1alpha1.ConditionFailed):
		c.checkFailed(h, before, after)
	}
}

func (c *Checker) checkFailed(h *history, before, after *v1alpha1.TrainingJob) {
	f := after.Status.FirstFailure
	if f == nil {
		c.violate("12 verdicts are earned: the job failed without a failure")
		return
	}
	slot := state.Slot{Role: f.Role, Index: int(f.Index)}
	cause := h.causeOf(place{slot, lifeIn(before, memoryOf(before), slot)}, before)
	switch {
	case f.Cause == v1alpha1.CauseStartup:
	case after.Status.Reason == v1alpha1.ReasonFatalExit && cause.fatal:
	case after.Status.Reason == v1alpha1.ReasonMaxRestartsExceeded && cause.retryable:
	default:
		c.violate("12 verdicts are earned: the job failed as %s for %s (%s %s), which did not happen", after.Status.Reason, slot, f.Cause, f.Reason)
	}
}

// awaited returns the slots whose success is the job's.
func awaited(job *v1alpha1.TrainingJob) []state.Slot {
	if job.Spec.SuccessPolicy != v1alpha1.SuccessAllWorkers {
		return []state.Slot{state.Leader(&job.Spec)}
	}
	var all []state.Slot
	for _, role := range v1alpha1.Roles {
		for i := range int(job.Spec.Replicas(role)) {
			if role.IsLeader() || role == v1alpha1.Worker {
				all = append(all, state.Slot{Role: role, Index: i})
			}
		}
	}
	return all
}
