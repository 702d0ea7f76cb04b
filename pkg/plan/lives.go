package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// remember records which replicas have started, succeeded or been given up, and removes the back-off of calm ones. It gives the next life
// to replicas that scaling removed, and to replicas whose pods were deleted before they ran: the rest of such a pod on its node then
// belongs to a past life, which is awaited, named and fenced like all others.
func remember(s *state.Snapshot, memory state.Memory, v *policy.Verdict) {
	for r := range s.Replicas() {
		m := memory[r.Slot.Role]
		if r.Pod != nil && r.Pod.HasStarted() {
			m.Started.Add(r.Slot.Index)
		}
		if r.State == state.Succeeded {
			m.Succeeded.Add(r.Slot.Index)
		}
		if v.GoesOn() && !isResting(s) && isOverUnseen(r) {
			m.Replace(r.Slot.Index)
		}
	}
	for i := range v.GivenUp {
		memory[v.GivenUp[i].Role].GivenUp.Add(int(v.GivenUp[i].Index))
	}
	for _, slot := range v.Calm {
		delete(memory[slot.Role].RestartsInRow, slot.Index)
	}
	for _, slot := range v.Settled {
		delete(memory[slot.Role].NextStarts, slot.Index)
	}
	if v.Asked == nil {
		forgetTakenAway(s, memory)
	}
}

// isOverUnseen reports whether the replica's life is over although it was never seen running: its pod was deleted before it ran, or had a
// node and is gone. A process of it may have begun.
func isOverUnseen(r *state.Replica) bool {
	return r.State == state.Ending || r.State == state.Missing && r.Last != nil
}

// forgetTakenAway gives the slots that the job no longer has their next life, and forgets the one that they had.
func forgetTakenAway(s *state.Snapshot, memory state.Memory) {
	for slot := range takenAway(s) {
		memory[slot.Role].Replace(slot.Index)
	}
	for role, m := range memory {
		for _, set := range []*state.IndexSet{&m.Started, &m.Succeeded, &m.GivenUp, &m.Parked} {
			set.Truncate(int(s.Job.Spec.Replicas(role)))
		}
	}
}

// takenAway returns the slots that the job no longer has, and that have a pod in their present life or had one that ended.
func takenAway(s *state.Snapshot) map[state.Slot]bool {
	slots := map[state.Slot]bool{}
	for i := range s.Pods {
		if p := &s.Pods[i]; s.Memory[p.Slot.Role] != nil && !s.InRange(p.Slot) && p.Life == s.Life(p.Slot) {
			slots[p.Slot] = true
		}
	}
	for role, m := range s.Memory {
		for _, lived := range []*state.IndexSet{&m.Started, &m.Succeeded, &m.GivenUp} {
			for index := range lived.From(int(s.Job.Spec.Replicas(role))) {
				slots[state.Slot{Role: role, Index: index}] = true
			}
		}
	}
	return slots
}

// mayHaveMissed reports whether a replica without a pod may have had one that this process has not seen: what is created for it then gets a
// number that no earlier process has.
func mayHaveMissed(s *state.Snapshot) bool {
	return s.FirstLook && s.Is(v1alpha1.ConditionCreated) && !s.IsFinished() && len(missing(s)) > 0
}

// park leaves workers without a pod, each with its next life, or lets them have one again.
func park(s *state.Snapshot, memory state.Memory, v *policy.Verdict) {
	workers := memory[v1alpha1.Worker]
	for _, slot := range v.Park {
		workers.Parked.Add(slot.Index)
		workers.Replace(slot.Index)
		now := metav1.NewTime(s.Now.Truncate(time.Second))
		workers.ParkedTime = &now
	}
	for _, slot := range v.Unpark {
		workers.Parked.Remove(slot.Index)
	}
}

// beginLives gives the next life to what the verdict restarts or resumes, and counts it.
func beginLives(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, memory state.Memory, v *policy.Verdict) {
	if v.Kind != policy.Suspend && v.Kind != policy.Succeed && s.Is(v1alpha1.ConditionSuspended) {
		resume(s, next, memory)
	}
	if v.Kind == policy.Suspend {
		forgetStarts(memory)
	}
	for n := range v.Restarts {
		incident := &v.Restarts[n]
		next.Restarts++
		role := next.ReplicaStatuses[incident.Role]
		role.Restarts++
		next.ReplicaStatuses[incident.Role] = role
		restart(s, next, memory, incident)
	}
}

// resume gives each replica its next life. A stale cache therefore cannot mistake a pod from before the suspension for a new one. A job
// that never started has no old pods. Every back-off is removed, because the user may have corrected the job during the suspension.
func resume(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, memory state.Memory) {
	if s.Job.Status.StartTime == nil {
		return
	}
	for r := range s.Replicas() {
		m, index := memory[r.Slot.Role], r.Slot.Index
		if state.IsMember(&s.Job.Spec, r.Slot.Role) { // the others cannot meet without a rank that had succeeded
			m.Succeeded.Remove(index)
		}
		if !m.Succeeded.Has(index) {
			m.Replace(index)
		}
		m.Parked.Remove(index)
	}
	next.NextStartTime, next.Memory.RestartsInRow = nil, 0
	for _, m := range memory {
		m.ForgetBackOff()
	}
}

// restart gives what the incident restarts its next life: a replica, all of a role that have not succeeded, or the whole job.
func restart(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, memory state.Memory, incident *failure.Incident) {
	role := memory[incident.Role]
	switch incident.Scope {
	case v1alpha1.ScopeReplica:
		role.Replace(int(incident.Index))
		role.HoldBack(int(incident.Index), int(incident.InRow), incident.NextStart)
	case v1alpha1.ScopeRole:
		for index := range int(s.Job.Spec.Replicas(incident.Role)) {
			if !role.Succeeded.Has(index) {
				role.Replace(index)
				role.HoldBack(index, int(incident.InRow), incident.NextStart)
			}
		}
	case v1alpha1.ScopeJob:
		next.Memory.GroupAttempt = nil
		if restartsAnyInPlace(s) { // new pods join the group of those that stay
			next.Memory.GroupAttempt = ptr.To(state.GroupAttempt(&s.Job.Status))
		}
		next.Attempt++
		next.Memory.RestartsInRow, next.NextStartTime = incident.InRow, &metav1.Time{Time: incident.NextStart}
		beginAttempt(s, memory)
	}
}

// beginAttempt forgets what is known of the lives of the attempt that ends. The ranks of a collective that have succeeded run again,
// because the others cannot meet without them.
func beginAttempt(s *state.Snapshot, memory state.Memory) {
	forgetStarts(memory)
	for role, m := range memory {
		m.Replacements, m.GivenUp = state.Counts{}, state.IndexSet{}
		m.ForgetBackOff()
		if state.IsMember(&s.Job.Spec, role) {
			m.Succeeded = state.IndexSet{}
		}
	}
}

func forgetStarts(memory state.Memory) {
	for _, m := range memory {
		m.Started = state.IndexSet{}
	}
}
