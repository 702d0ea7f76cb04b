package invariant

import (
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// joiners returns the slots that get another life because they end as part of another replica's incident: no incident covers them, their own
// back-off begins, and they have truly broken.
func (c *Checker) joiners(h *history, before, after *v1alpha1.TrainingJob, anew []v1alpha1.Incident) []state.Slot {
	var list []state.Slot
	old, memory := memoryOf(before), memoryOf(after)
	for _, role := range before.Spec.Roles() {
		for i := range int(before.Spec.Replicas(role)) {
			slot := state.Slot{Role: role, Index: i}
			was, now := lifeIn(before, old, slot), lifeIn(after, memory, slot)
			_, covered := covers(anew, slot)
			ends := was != now && !covered && !old[role].GivenUp.Has(i)
			if ends && memory[role].NextStarts[i] > old[role].NextStarts[i] && c.roleBroke(h, before, slot, was) {
				list = append(list, slot)
			}
		}
	}
	return list
}

// checkJoined asks whether as many replicas end as part of an incident as the incidents count. The replicas of a role that restarts are followers, too.
func (c *Checker) checkJoined(before, after *v1alpha1.TrainingJob, joiners []state.Slot, anew []v1alpha1.Incident) {
	claimed := ledger.Joined(&before.Status, &after.Status)
	restartsMore := slices.ContainsFunc(anew, func(i v1alpha1.Incident) bool { return i.Scope == v1alpha1.ScopeRole })
	if len(joiners) > claimed || len(joiners) < claimed && !restartsMore {
		c.violate("8 exactly once: %d replicas end as part of another's incident, and the incidents count %d", len(joiners), claimed)
	}
}

// roleBroke reports whether the slot's life has truly broken. If the role restarts as a whole, also by a rule, any of its lives may have broken.
func (c *Checker) roleBroke(h *history, job *v1alpha1.TrainingJob, slot state.Slot, life state.Life) bool {
	broke := func(p place) bool { // a rule may have a permanent exit restarted, and a loss charged
		truly := c.causeOf(h, p, job)
		return truly.exit || (truly.fatal || truly.loss) && len(job.Spec.Recovery.Rules) > 0
	}
	if scopeOf(&job.Spec, slot) != v1alpha1.ScopeRole && !mayRestartRoles(job) {
		return broke(place{slot, life})
	}
	for i := range int(job.Spec.Replicas(slot.Role)) {
		other := state.Slot{Role: slot.Role, Index: i}
		if broke(place{other, lifeIn(job, memoryOf(job), other)}) {
			return true
		}
	}
	return false
}

// mayRestartRoles reports whether a rule restarts a role as a whole.
func mayRestartRoles(job *v1alpha1.TrainingJob) bool {
	return slices.ContainsFunc(job.Spec.Recovery.Rules, func(r v1alpha1.RecoveryRule) bool { return r.Scope == v1alpha1.ScopeRole })
}

// joinedScope returns the scope of the restart of the slot as part of an incident: its role, if a rule may restart roles and no replica of it is left out that
// has not succeeded by then.
func joinedScope(job *v1alpha1.TrainingJob, slot state.Slot, joiners []state.Slot) v1alpha1.RestartScope {
	count := 0
	for _, joiner := range joiners {
		if joiner.Role == slot.Role {
			count++
		}
	}
	if m := memoryOf(job)[slot.Role]; mayRestartRoles(job) && count > 1 && count+m.Succeeded.Len() == int(job.Spec.Replicas(slot.Role)) {
		return v1alpha1.ScopeRole
	}
	return scopeOf(&job.Spec, slot)
}
