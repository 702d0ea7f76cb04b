package metrics

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

// Recovery is what an incident restarted, running again.
type Recovery struct {
	Incident *v1alpha1.Incident
	// Begin is when the failure began, or the life of the replica that failed, if that was later: its node may have been ill before.
	Begin metav1.Time
	// Placed is when every replica's pod had a node, if the whole job restarted and it is known.
	Placed *metav1.Time
	// End is when what was restarted ran again.
	End metav1.Time
}

// Recoveries returns the incidents that are over with the plan's status, and were not with the job's.
func Recoveries(job *v1alpha1.TrainingJob, p *plan.Plan) []Recovery {
	return newTransition(job, p).recoveries()
}

func (t transition) recoveries() []Recovery {
	list := append(t.jobRecovery(), t.replicaRecoveries()...)
	for i := range list {
		list[i].Begin = t.begin(list[i].Incident)
	}
	return list
}

// begin returns when the failure began, or when its replica was created: with the job, or by the restart before.
func (t transition) begin(i *v1alpha1.Incident) metav1.Time {
	begin := i.Time
	if begin.Before(t.is.StartTime) {
		begin = *t.is.StartTime
	}
	for n := range t.is.Incidents {
		former := &t.is.Incidents[n]
		hasRestarted := former.Scope == v1alpha1.ScopeJob || former.Role == i.Role && (former.Scope == v1alpha1.ScopeRole || former.Index == i.Index)
		if hasRestarted && former.RestartTime.Before(&i.RestartTime) && begin.Before(&former.RestartTime) {
			begin = former.RestartTime
		}
	}
	return begin
}

// recovered tells how long restarts took, once what was restarted runs again.
func (t transition) recovered() []Observation {
	var list []Observation
	for _, r := range t.recoveries() {
		i := r.Incident
		list = append(list, RecoveryTime.with(between(&r.Begin, &r.End), string(i.Cause), string(i.Scope)))
		if i.Scope == v1alpha1.ScopeJob {
			list = append(list, RecoveryPart.with(between(&r.Begin, &i.RestartTime), "detection"))
		}
		if r.Placed != nil {
			list = append(list, RecoveryPart.with(between(&i.RestartTime, r.Placed), "placement"), RecoveryPart.with(between(r.Placed, &r.End), "start"))
		}
	}
	return list
}

// jobRecovery returns the restart of the whole job, once the new attempt runs. Of restarts that end before they ran only the last is
// told: from its failure.
func (t transition) jobRecovery() []Recovery {
	runs := condition(t.is, v1alpha1.ConditionRunning)
	if !isTrue(condition(t.was, v1alpha1.ConditionRestarting)) || !isTrue(runs) || isTrue(condition(t.was, v1alpha1.ConditionRunning)) {
		return nil
	}
	isLatest := func(i v1alpha1.Incident) bool { return i.Scope == v1alpha1.ScopeJob && i.Attempt == t.is.Attempt-1 }
	at := slices.IndexFunc(t.is.Incidents, isLatest)
	if at < 0 {
		return nil
	}
	r := Recovery{Incident: &t.is.Incidents[at], End: runs.LastTransitionTime}
	if placed := condition(t.is, v1alpha1.ConditionScheduled); isTrue(placed) && !placed.LastTransitionTime.Before(&r.Incident.RestartTime) {
		r.Placed = &placed.LastTransitionTime
	}
	return []Recovery{r}
}

// replicaRecoveries returns the restarts of single replicas and of roles, when these run again.
func (t transition) replicaRecoveries() []Recovery {
	now := t.is.Memory.CountedTime
	if t.is.Attempt != t.was.Attempt || now == nil {
		return nil
	}
	var list []Recovery
	for _, role := range t.job.Spec.Roles() {
		was, is := t.was.Memory.Roles[role], t.is.Memory.Roles[role]
		if is.Started == was.Started {
			continue
		}
		for _, i := range t.runAgain(role, started(was), started(is)) {
			list = append(list, Recovery{Incident: i, End: *now})
		}
	}
	return list
}

// started returns the replicas of the role that have run in their present life; none if the status cannot be read.
func started(memory v1alpha1.RoleMemory) state.IndexSet {
	set, err := state.ParseIndexSet(memory.Started)
	if err != nil {
		return state.IndexSet{}
	}
	return set
}

// runAgain returns the incidents of the role after which what was restarted runs again now: a replica that has started, or a role whose
// last replica has, if nothing has broken in it since. A role whose workers come and go is whole many times: of an elastic job only
// replicas are told.
func (t transition) runAgain(role v1alpha1.Role, was, is state.IndexSet) []*v1alpha1.Incident {
	var found []*v1alpha1.Incident
	// A replica that a change of the spec was to take away, and another one leaves, is counted as started anew: it has been told.
	isSpecNew := t.is.ObservedGeneration != t.was.ObservedGeneration
	isNewest := t.job.Spec.Elastic == nil
	for n := range t.is.Incidents { // the newest first
		i := &t.is.Incidents[n]
		if i.Role != role || i.Attempt != t.is.Attempt {
			continue
		}
		isReplica := i.Scope == v1alpha1.ScopeReplica && is.Has(int(i.Index)) && !was.Has(int(i.Index)) && !isSpecNew
		isRole := i.Scope == v1alpha1.ScopeRole && isNewest && isWhole(t.job, role, is) && !isWhole(t.job, role, was)
		if (isReplica || isRole) && t.isInNextLife(i) {
			found = append(found, i)
		}
		isNewest = false
	}
	return found
}

// isInNextLife reports whether the replica that failed is in the life that the incident gave it, and not in one that it has got since: by
// another incident, or when it was parked, suspended or taken away and came back. Of a pod that had vanished nobody knows: its incident names none.
func (t transition) isInNextLife(i *v1alpha1.Incident) bool {
	_, failed, isPod := state.ParsePodName(t.job.Name, i.Pod)
	replacements, err := state.ParseCounts(t.is.Memory.Roles[i.Role].Replacements)
	suspended := condition(t.is, v1alpha1.ConditionSuspended)
	wasSuspended := suspended != nil && i.RestartTime.Before(&suspended.LastTransitionTime)
	return isPod && err == nil && failed.Attempt == int(t.is.Attempt) && failed.Replacement+1 == replacements[int(i.Index)] && !wasSuspended
}

func isWhole(job *v1alpha1.TrainingJob, role v1alpha1.Role, started state.IndexSet) bool {
	return started.Len() >= int(job.Spec.Replicas(role))
}
