package history

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// recovered adds the recoveries that are over now.
func (h *History) recovered() {
	first := len(h.List)
	h.jobRecovered()
	h.replicasRecovered()
	for i := range h.List[first:] {
		h.List[first+i].Begin = h.BeginOf(h.List[first+i].Incident)
	}
}

// BeginOf returns when the failure began. If the job or a restart created the failed replica later, it returns that time: the node may have
// been unhealthy before.
func (h *History) BeginOf(incident *v1alpha1.Incident) metav1.Time {
	begin := metav1.NewTime(state.Earliest(incident.Time.Time, incident.RestartTime.Time)) // the node's clock may be ahead
	if begin.Before(h.Is.StartTime) {
		begin = *h.Is.StartTime
	}
	for i := range h.Is.Incidents {
		former := &h.Is.Incidents[i]
		hasRestarted := failure.Covers(former, failure.SlotOf(&incident.Failure))
		if hasRestarted && former.RestartTime.Before(&incident.RestartTime) && begin.Before(&former.RestartTime) {
			begin = former.RestartTime
		}
	}
	return begin
}

// jobRecovered adds the restart of the whole job, once the new attempt runs. If several attempts ended before they ran, it adds the last
// restart only.
func (h *History) jobRecovered() {
	restarts := meta.IsStatusConditionTrue(h.Was.Conditions, v1alpha1.ConditionRestarting)
	incident, number := restartOf(h.Is, h.Is.Attempt-1)
	if !restarts || !became(h.Was, h.Is, v1alpha1.ConditionRunning) || incident == nil {
		return
	}
	t := Transition{Kind: Recovered, Attempt: incident.Attempt, End: since(h.Is, v1alpha1.ConditionRunning), Incident: incident, Number: number}
	placed := meta.FindStatusCondition(h.Is.Conditions, v1alpha1.ConditionScheduled)
	if placed != nil && placed.Status == metav1.ConditionTrue && !placed.LastTransitionTime.Before(&incident.RestartTime) {
		t.Placed = &placed.LastTransitionTime
	}
	h.add(t)
}

// replicasRecovered adds the restarts of single replicas and of roles whose replicas run again.
func (h *History) replicasRecovered() {
	now := h.Is.Memory.CountedTime
	if h.Is.Attempt != h.Was.Attempt || now == nil {
		return
	}
	for _, role := range h.Job.Spec.Roles() {
		was, is := h.Was.Memory.Roles[role], h.Is.Memory.Roles[role]
		if is.Started == was.Started {
			continue
		}
		for _, i := range h.runAgain(role, started(was), started(is)) {
			incident := &h.Is.Incidents[i]
			h.add(Transition{Kind: Recovered, Attempt: incident.Attempt, End: *now, Incident: incident, Number: h.Is.Restarts - int32(i)})
		}
	}
}

// started returns the replicas of the role that have run in their present life; none if the memory is not readable.
func started(memory v1alpha1.RoleMemory) state.IndexSet {
	set, _ := state.ParseIndexSet(memory.Started)
	return set
}

// runAgain returns the indices of the role's incidents that are over now. The restart of a replica is over when the replica has started.
// The restart of a role is over when its last replica has started and none has broken since. The workers of an elastic job come and go, so
// their role is whole many times; there only restarts of replicas count.
func (h *History) runAgain(role v1alpha1.Role, was, is state.IndexSet) []int {
	var found []int
	// a change of the spec may remove a replica's slot and bring it back: then the replica starts a second time
	isSpecNew := h.Is.ObservedGeneration != h.Was.ObservedGeneration
	isNewest := h.Job.Spec.Elastic == nil
	for i := range h.Is.Incidents { // newest first
		incident := &h.Is.Incidents[i]
		if incident.Role != role || incident.Attempt != h.Is.Attempt {
			continue
		}
		index := int(incident.Index)
		isReplica := incident.Scope == v1alpha1.ScopeReplica && is.Has(index) && !was.Has(index) && !isSpecNew
		isRole := incident.Scope == v1alpha1.ScopeRole && isNewest && h.isWhole(role, is) && !h.isWhole(role, was)
		if (isReplica || isRole) && h.isInNextLife(incident) {
			found = append(found, i)
		}
		isNewest = false
	}
	return found
}

// isInNextLife reports whether the replica that failed is in the life that this incident gave it. Another incident, suspension
// or scaling gives it a later life.
func (h *History) isInNextLife(incident *v1alpha1.Incident) bool {
	replacements, err := state.ParseCounts(h.Is.Memory.Roles[incident.Role].Replacements)
	suspended := since(h.Is, v1alpha1.ConditionSuspended)
	wasSuspended := incident.RestartTime.Before(&suspended)
	isNext := incident.Attempt == h.Is.Attempt && err == nil && int(incident.Replacement)+1 == replacements[int(incident.Index)]
	return isNext && !wasSuspended
}

// isWhole reports whether all replicas of the role have started.
func (h *History) isWhole(role v1alpha1.Role, started state.IndexSet) bool {
	return started.Len() >= int(h.Job.Spec.Replicas(role))
}
