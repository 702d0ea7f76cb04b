package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// nextStatus returns the status after the verdict: what was seen, what was counted, what is true now.
func nextStatus(s *state.Snapshot, v policy.Verdict) v1alpha1.TrainingJobStatus {
	next := *s.Job.Status.DeepCopy()
	if next.Memory.Shape == "" || next.ObservedGeneration != s.Job.Generation {
		next.Memory.Shape = state.Shape(&s.Job.Spec)
	}
	next.ObservedGeneration = s.Job.Generation
	next.Queue = queueOf(s.Job)
	next.ReplicaStatuses = observe(s)
	countReady(s, &next)
	memory := s.Memory.Clone()
	if v.Ruling != policy.Final {
		remember(s, memory)
		forgetCalm(s, memory)
		fit(s, &next, memory, v.Ruling)
		keepTime(s, &next, v)
		keepProgress(s, &next)
		apply(s, &next, memory, v)
		account(s, &next, v)
		yield(s, &next, v.Ruling)
		setConditions(s, &next, v)
		keepRunningTime(s, &next, v)
	}
	writeMemory(&next, memory)
	next.Phase = PhaseOf(next.Conditions)
	next.Reason, next.Message = why(&next)
	if !equality.Semantic.DeepEqual(&s.Job.Status, &next) {
		next.RunningTimeRatio = runningTimeRatio(s, &next)
		keepRenewal(s, &next, v)
	}
	return next
}

// countReady adds up over the roles how many replicas there should be and how many are ready.
func countReady(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) {
	next.Replicas, next.ReadyReplicas = int32(state.Total(&s.Job.Spec)), 0
	for _, status := range next.ReplicaStatuses {
		next.ReadyReplicas += status.Ready
	}
	next.Ready = fmt.Sprintf("%d/%d", next.ReadyReplicas, next.Replicas)
}

// queueOf returns the queue in force: Kueue's, else that of the job's gang scheduler.
func queueOf(job *v1alpha1.TrainingJob) string {
	if queue := job.Labels[v1alpha1.LabelQueue]; queue != "" || job.Spec.Scheduling == nil {
		return queue
	}
	return job.Spec.Scheduling.Queue
}

// remember takes into memory which slots have started and which have succeeded, and gives slots that scaling took away
// their next life.
func remember(s *state.Snapshot, memory state.Memory) {
	for _, slot := range s.Slots() {
		if p := s.Present(slot); p != nil && p.HasStarted() {
			memory[slot.Role].Started.Add(slot.Index)
		}
		if policy.HasSucceeded(s, slot) {
			memory[slot.Role].Succeeded.Add(slot.Index)
		}
		if _, givenUp := policy.GivenUp(s, slot); givenUp {
			memory[slot.Role].GivenUp.Add(slot.Index)
		}
	}
	for role, m := range memory {
		m.Started.Truncate(int(s.Job.Spec.Replicas(role)))
		m.Parked.Truncate(int(s.Job.Spec.Replicas(role)))
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		if m := memory[p.Slot.Role]; m != nil && !s.InRange(p.Slot) && p.Life == s.Life(p.Slot) {
			m.Replace(p.Slot.Index)
		}
	}
}

// forgetCalm forgets of slots that were not restarted lately how often they were in a row, and when their lives could begin once
// nothing counts from that any more.
func forgetCalm(s *state.Snapshot, memory state.Memory) {
	for role, m := range memory {
		maps.DeleteFunc(m.RestartsInRow, func(index, _ int) bool { return policy.IsCalm(s, state.Slot{Role: role, Index: index}) })
		maps.DeleteFunc(m.NextStarts, func(index, _ int) bool {
			return policy.NothingCountsFrom(s, state.Slot{Role: role, Index: index})
		})
	}
}

// fit parks the workers of an elastic job that fit nowhere, each with its next life, or tries them again.
func fit(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, memory state.Memory, ruling policy.Ruling) {
	park, retry, _ := policy.Fit(s)
	if ruling != policy.Continue || len(park)+len(retry) == 0 {
		return
	}
	workers := memory[v1alpha1.Worker]
	for _, slot := range park {
		workers.Parked.Add(slot.Index)
		workers.Replace(slot.Index)
		now := metav1.NewTime(s.Now.Truncate(time.Second))
		workers.ParkedTime = &now
	}
	for _, slot := range retry {
		workers.Parked.Remove(slot.Index)
	}
}

// yield lets new pods take nodes that the job avoids, as they fit nowhere else.
func yield(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, ruling policy.Ruling) {
	if ruling != policy.Continue {
		return
	}
	nodes, _ := policy.Yield(s)
	for i := range next.AvoidedNodes {
		n := &next.AvoidedNodes[i]
		n.Preferred = n.Preferred || slices.Contains(nodes, n.Name)
	}
}

// renewalEvery is how old the renewal in a status may get that nothing else makes it worth to write: a job has many of them.
const renewalEvery = 5 * time.Minute

// keepProgress takes over what the Lease says, if it says more than when it was last renewed.
func keepProgress(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) {
	if s.Progress.Renewed.IsZero() {
		return
	}
	next.RestartsWithoutProgress = policy.RestartsWithoutProgress(s)
	is := &v1alpha1.ProgressStatus{Step: policy.HighestStep(s), Checkpoint: clip(s.Progress.Checkpoint), RenewTime: renewal(s)}
	if was := next.Progress; was != nil && was.RenewTime != nil && is.RenewTime.Sub(was.RenewTime.Time) < renewalEvery {
		is.RenewTime = was.RenewTime
	}
	next.Progress = is
}

// keepRenewal takes over when the Lease was last renewed into a status that is written anyway.
func keepRenewal(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v policy.Verdict) {
	if v.Ruling != policy.Final && next.Progress != nil && !s.Progress.Renewed.IsZero() {
		next.Progress.RenewTime = renewal(s)
	}
}

func renewal(s *state.Snapshot) *metav1.Time {
	renewed := metav1.NewTime(s.Progress.Renewed.Truncate(time.Second))
	return &renewed
}

// keepTime sets the times that the verdict makes known.
func keepTime(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, v policy.Verdict) {
	now := metav1.NewTime(s.Now.Truncate(time.Second))
	if next.StartTime == nil && v.Ruling != policy.Suspend {
		next.StartTime = &now
	}
	if meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionSuspended) && v.Ruling != policy.Suspend {
		next.SuspendedSeconds = int64(policy.SuspendedFor(s.Job, s.Now).Seconds())
	}
	if v.Ruling == policy.Succeed || v.Ruling == policy.Fail {
		next.CompletionTime = &now
		next.Duration = now.Sub(next.StartTime.Time).String()
	}
}

// apply counts what the verdict decides and gives the next life to what it restarts.
func apply(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, memory state.Memory, v policy.Verdict) {
	if v.Failure != nil {
		next.LastFailure = v.Failure
	}
	if v.Ruling != policy.Suspend && v.Ruling != policy.Succeed && meta.IsStatusConditionTrue(s.Job.Status.Conditions, v1alpha1.ConditionSuspended) {
		resume(s, memory)
	}
	switch v.Ruling {
	case policy.Suspend:
		forgetStarts(memory)
	case policy.Restart:
		for i := range v.Restarts {
			count(next, &v.Restarts[i])
			beginLives(s, next, memory, &v.Restarts[i])
		}
	}
}

// resume gives each replica its next life: whoever still sees a pod that the suspension ended, or still reads a suspended
// job, then cannot take the pods of before for those of after it. A job that never started has no pods of before.
func resume(s *state.Snapshot, memory state.Memory) {
	if s.Job.Status.StartTime == nil {
		return
	}
	for _, slot := range s.Slots() {
		m := memory[slot.Role]
		if policy.IsCollective(&s.Job.Spec) { // the others cannot meet without a rank that had succeeded
			m.Succeeded.Remove(slot.Index)
		}
		if !m.Succeeded.Has(slot.Index) {
			m.Replace(slot.Index)
		}
		m.Parked.Remove(slot.Index)
	}
	for _, m := range memory {
		m.ForgetBackOff()
	}
}

func count(next *v1alpha1.TrainingJobStatus, order *policy.RestartOrder) {
	next.Restarts++
	role := next.ReplicaStatuses[order.Failure.Role]
	role.Restarts++
	next.ReplicaStatuses[order.Failure.Role] = role
}

func beginLives(s *state.Snapshot, next *v1alpha1.TrainingJobStatus, memory state.Memory, order *policy.RestartOrder) {
	role := memory[order.Failure.Role]
	switch order.Scope {
	case v1alpha1.ScopeReplica:
		role.Replace(int(order.Failure.Index))
		role.HoldBack(int(order.Failure.Index), int(order.InRow), order.NextStart)
	case v1alpha1.ScopeRole:
		for i := range int(s.Job.Spec.Replicas(order.Failure.Role)) {
			if !role.Succeeded.Has(i) {
				role.Replace(i)
				role.HoldBack(i, int(order.InRow), order.NextStart)
			}
		}
	case v1alpha1.ScopeJob:
		next.Attempt++
		next.ConsecutiveRestarts, next.NextStartTime = order.InRow, &metav1.Time{Time: order.NextStart}
		forgetStarts(memory)
		for _, m := range memory {
			m.Replacements, m.GivenUp = state.Counts{}, state.IndexSet{}
			m.ForgetBackOff()
			if policy.IsCollective(&s.Job.Spec) {
				m.Succeeded = state.IndexSet{}
			}
		}
	}
}

func forgetStarts(memory state.Memory) {
	for _, m := range memory {
		m.Started = state.IndexSet{}
	}
}

func writeMemory(next *v1alpha1.TrainingJobStatus, memory state.Memory) {
	for role, m := range memory {
		status := next.ReplicaStatuses[role]
		status.Succeeded, status.Parked = int32(m.Succeeded.Len()), int32(m.Parked.Len())
		next.ReplicaStatuses[role] = status
	}
	next.Memory.Roles = memory.Write()
}
