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

// remember takes into memory which replicas have started, succeeded or been given up, forgets the back-off of those that are
// calm, and gives those that scaling took away their next life.
func remember(s *state.Snapshot, memory state.Memory, v *policy.Verdict) {
	for r := range s.Replicas() {
		m := memory[r.Slot.Role]
		if r.Pod != nil && r.Pod.HasStarted() {
			m.Started.Add(r.Slot.Index)
		}
		if r.State == state.Succeeded {
			m.Succeeded.Add(r.Slot.Index)
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
	for role, m := range memory {
		m.Started.Truncate(int(s.Job.Spec.Replicas(role)))
		m.Parked.Truncate(int(s.Job.Spec.Replicas(role)))
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		if m := memory[p.Slot.Role]; m != nil && isTakenAway(s, v, p) && p.Life == s.Life(p.Slot) {
			m.Replace(p.Slot.Index)
		}
	}
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

// resume gives each replica its next life: whoever still sees a pod that the suspension ended, or still reads a suspended
// job, then cannot take the pods of before for those of after it. A job that never started has no pods of before. No back-off is left,
// neither the job's nor that of a replica: a job that was suspended may have been mended.
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
