package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
)

// remember records which replicas have started, succeeded or been given up, and forgets the back-off of healthy ones. It gives
// the next life to removed slots, and to replicas whose pod was deleted before it ran. Their old pods are then waited for, named
// and fenced like all pods of earlier lives.
func remember(s *state.Snapshot, memory state.Memory, v *policy.Verdict) {
	for r := range s.Replicas() {
		m := memory[r.Slot.Role]
		if r.Pod != nil && r.Pod.HasStarted() {
			m.Started.Add(r.Slot.Index)
		}
		if r.State == state.Succeeded {
			m.Succeeded.Add(r.Slot.Index)
		}
		// its pod was deleted before it ran, or had a node and is gone: its process may have begun
		isOverUnseen := r.State == state.Ending || r.State == state.Missing && r.Last != nil
		if v.GoesOn() && !s.IsResting() && isOverUnseen {
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
		forgetRemoved(s, memory)
	}
}

// forgetRemoved gives removed slots their next life, and forgets the present one.
func forgetRemoved(s *state.Snapshot, memory state.Memory) {
	for slot := range removedSlots(s) {
		memory[slot.Role].Replace(slot.Index)
	}
	for role, m := range memory {
		for _, set := range []*state.IndexSet{&m.Started, &m.Succeeded, &m.GivenUp} {
			set.Truncate(int(s.Job.Spec.Replicas(role)))
		}
	}
}

// removedSlots returns the removed slots that have a pod in their present life, or had one that ended.
func removedSlots(s *state.Snapshot) map[state.Slot]bool {
	slots := map[state.Slot]bool{}
	for _, pods := range [][]state.Pod{s.Pods, s.Gone} {
		for i := range pods {
			if p := &pods[i]; s.Memory[p.Slot.Role] != nil && !s.InRange(p.Slot) && p.Life == s.Life(p.Slot) {
				slots[p.Slot] = true
			}
		}
	}
	for role, m := range s.Memory {
		for _, lived := range []*state.IndexSet{&m.Started, &m.Succeeded, &m.GivenUp} {
			for _, index := range lived.From(int(s.Job.Spec.Replicas(role))) {
				slots[state.Slot{Role: role, Index: index}] = true
			}
		}
	}
	return slots
}

// beginLives gives the next life to the replicas that the verdict restarts or resumes, and counts the restarts.
func beginLives(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, memory state.Memory, v *policy.Verdict) {
	if leavesSuspension(s, v) {
		resume(s, next, memory)
	}
	if v.Kind == policy.Suspend {
		forgetStarts(memory)
	}
	for n := range v.Restarts {
		restart := &v.Restarts[n]
		if restart.Joins == nil {
			next.Restarts++
			role := next.ReplicaStatuses[restart.Role]
			role.Restarts++
			next.ReplicaStatuses[restart.Role] = role
		}
		giveNextLives(s, next, memory, restart)
	}
}

// leavesSuspension reports whether the verdict ends a suspension: the job continues, restarts or fails. A job that succeeds has no next
// lives: its replicas keep what they reached.
func leavesSuspension(s *state.Snapshot, v *policy.Verdict) bool {
	return s.IsSuspended() && v.Kind != policy.Suspend && v.Kind != policy.Succeed
}

// resume gives each replica its next life. A stale cache therefore cannot mistake a pod from before the suspension for a new one. A job
// that never started has no such pods. The user may have fixed the job meanwhile. So the back-off of the job and of its replicas ends, replicas
// that were given up run again, and the next report is the step to exceed: it may come from an earlier checkpoint, or from other data.
//
// A replica of a served job keeps its life, and so the name of its pod, if no pod of that name is left: clients of Kubeflow jobs know that name.
// The number of its life then separates its next pod from earlier ones.
func resume(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, memory state.Memory) {
	if s.Job.Status.StartTime == nil {
		return
	}
	keepsNames := state.ServedJob(s.Job) != nil
	for r := range s.Replicas() {
		m, index := memory[r.Slot.Role], r.Slot.Index
		if state.IsMember(&s.Job.Spec, r.Slot.Role) { // the others cannot meet without a rank that had succeeded
			m.Succeeded.Remove(index)
		}
		switch {
		case m.Succeeded.Has(index):
		case keepsNames && r.Pod == nil:
			m.Started.Remove(index)
			m.GivenUp.Remove(index)
		default:
			m.Replace(index)
		}
	}
	next.NextStartTime, next.Memory.RestartsInRow, next.Memory.RedoStep = nil, 0, 0
	if next.Progress != nil {
		next.Progress.Step = 0
	}
	for _, m := range memory {
		m.ForgetBackOff()
	}
}

// giveNextLives gives the next life to a replica, to all replicas of a role that have not succeeded, or to the whole job.
func giveNextLives(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, memory state.Memory, restart *failure.Restart) {
	role := memory[restart.Role]
	switch restart.Scope {
	case v1alpha1.ScopeReplica:
		role.Replace(int(restart.Index))
		role.HoldBack(int(restart.Index), int(restart.InRow), restart.NextStart)
	case v1alpha1.ScopeRole:
		for index := range int(s.Job.Spec.Replicas(restart.Role)) {
			if !role.Succeeded.Has(index) {
				role.Replace(index)
				role.HoldBack(index, int(restart.InRow), restart.NextStart)
			}
		}
	case v1alpha1.ScopeJob:
		next.Memory.GroupAttempt = nil
		if restartsAnyInPlace(s, &restart.Incident) { // new pods join the group of the pods that stay
			next.Memory.GroupAttempt = ptr.To(state.GroupAttempt(&s.Job.Status))
		}
		next.Attempt++
		next.Memory.RestartsInRow, next.NextStartTime = restart.InRow, &metav1.Time{Time: restart.NextStart}
		beginAttempt(s, memory)
	}
}

// beginAttempt forgets the lives of the attempt that ends. Succeeded ranks of a collective run again, because the others cannot
// meet without them.
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
