package plan_test

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// The numbers in the messages are those of the invariants in the reliability bar.

func isTrue(job *v1alpha1.TrainingJob, condition string) bool {
	return meta.IsStatusConditionTrue(job.Status.Conditions, condition)
}

func memoryOf(job *v1alpha1.TrainingJob) state.Memory {
	memory, err := state.ReadMemory(job)
	if err != nil {
		panic(err)
	}
	return memory
}

func lifeIn(job *v1alpha1.TrainingJob, memory state.Memory, slot state.Slot) state.Life {
	return state.Life{Attempt: int(job.Status.Attempt), Replacement: memory[slot.Role].Replacements[slot.Index]}
}

func isInRange(job *v1alpha1.TrainingJob, slot state.Slot) bool {
	return slot.Index < int(job.Spec.Replicas(slot.Role))
}

// checkCreate holds a create against the job it was planned from, as nobody can know more.
func (s *sim) checkCreate(pod *corev1.Pod, from *v1alpha1.TrainingJob, leads bool) {
	slot, life, ok := state.ParsePodName(from.Name, pod.Name)
	memory := memoryOf(from)
	switch next := from.Status.NextStartTime; {
	case !ok || !isInRange(from, slot):
		s.violate("5 bounds: %s is created with %d replicas", pod.Name, from.Spec.Replicas(slot.Role))
	case isTrue(from, v1alpha1.ConditionFinished) || isTrue(from, v1alpha1.ConditionSuspended) || from.Spec.Suspend:
		s.violate("4 no work without cause: %s is created in phase %s", pod.Name, from.Status.Phase)
	case memory[slot.Role].Succeeded.Has(slot.Index):
		s.violate("13 success is not lost: %s is created, the replica has succeeded", pod.Name)
	case next != nil && s.now.Before(next.Time):
		s.violate("14 back-off: %s is created %v too early", pod.Name, next.Sub(s.now))
	}
	if leads && s.pods[pod.Name] == nil && from.UID == s.job.UID {
		s.checkFence(pod.Name, slot, life)
	}
}

// checkFence asks whether somebody is still there whom the new pod must not meet. Pods that only a process without
// leadership could have made are not held against the leader: no controller can prevent a request that is on its way.
func (s *sim) checkFence(name string, slot state.Slot, life state.Life) {
	for _, other := range s.sorted() {
		switch {
		case other.uncanny || !other.CanRun():
		case other.Slot == slot:
			s.violate("2 uniqueness: %s is created while %s can run", name, other.Name)
		case other.owner != s.job.UID || other.Life.Attempt < life.Attempt:
			s.violate("3 fence: %s is created while %s of an earlier attempt or job can run", name, other.Name)
		}
	}
}

// checkDelete holds a delete against the job as it is: never a pod of the present life of an active job.
func (s *sim) checkDelete(p *truePod, step plan.DeletePod, from *v1alpha1.TrainingJob) {
	if p.owner != from.UID {
		s.violate("7 foreign objects: %s of another job is deleted", p.Name)
	}
	if p.owner != s.job.UID {
		return // the garbage collector wants it gone too
	}
	resting := isTrue(s.job, v1alpha1.ConditionSuspended) || isTrue(s.job, v1alpha1.ConditionFinished)
	present := p.Life == lifeIn(s.job, memoryOf(s.job), p.Slot)
	if present && !resting && isInRange(s.job, p.Slot) && p.CanRun() && p.Deleted.IsZero() {
		s.violate("6 deletes: %s can run, is of the present life, and is deleted because %q", p.Name, step.Why)
	}
	if !slices.Contains([]string{plan.WhyPastLife, plan.WhySuspended, plan.WhyCleanUp}, step.Why) {
		s.violate("6 deletes: %s is deleted because %q", p.Name, step.Why)
	}
}

// checkStatus holds each status that is written against the one before it.
func (s *sim) checkStatus(before, after *v1alpha1.TrainingJob, todo *plan.Plan) {
	was, is := &before.Status, &after.Status
	s.say("status %s %s: %s; attempt %d, %d restarts, workers started %q succeeded %q replaced %q", is.Phase, is.Reason, is.Message, is.Attempt,
		is.Restarts, is.ReplicaStatuses["Worker"].StartedIndexes, is.ReplicaStatuses["Worker"].SucceededIndexes, is.ReplicaStatuses["Worker"].Replacements)
	s.walk(was, is)
	if isTrue(before, v1alpha1.ConditionFinished) {
		if diff := cmp.Diff(was.Conditions, is.Conditions); diff != "" || was.Restarts != is.Restarts || !was.CompletionTime.Equal(is.CompletionTime) {
			s.violate("10 a verdict is final: %d to %d restarts, %s", was.Restarts, is.Restarts, diff)
		}
		return
	}
	s.checkMonotone(before, after)
	s.checkCounted(before, after, todo)
	s.checkSuccesses(before, after)
	s.checkVerdict(before, after)
}

func (s *sim) checkMonotone(before, after *v1alpha1.TrainingJob) {
	was, is := &before.Status, &after.Status
	if is.Attempt < was.Attempt || is.Restarts < was.Restarts || is.BilledRestarts < was.BilledRestarts || is.ObservedGeneration < was.ObservedGeneration {
		s.violate("9 monotone: attempt %d to %d, restarts %d to %d, billed %d to %d, generation %d to %d",
			was.Attempt, is.Attempt, was.Restarts, is.Restarts, was.BilledRestarts, is.BilledRestarts, was.ObservedGeneration, is.ObservedGeneration)
	}
	for role := range after.Spec.ReplicaSpecs {
		if is.ReplicaStatuses[role].Restarts < was.ReplicaStatuses[role].Restarts {
			s.violate("9 monotone: restarts of %s fell", role)
		}
	}
	memory, old := memoryOf(after), memoryOf(before)
	for role, m := range old {
		for index := range m.Replacements {
			slot := state.Slot{Role: role, Index: index}
			if lifeIn(after, memory, slot).Before(lifeIn(before, old, slot)) {
				s.violate("9 monotone: the life of %s fell", slot)
			}
		}
	}
}

// checkCounted : each restart is counted once, with the life that it ends, and truly happened in that life.
func (s *sim) checkCounted(before, after *v1alpha1.TrainingJob, todo *plan.Plan) {
	was, is := &before.Status, &after.Status
	if n := int(is.Restarts - was.Restarts); n != len(todo.Restarts) {
		s.violate("8 exactly once: %d restarts are counted, %d ordered", n, len(todo.Restarts))
	}
	memory, old := memoryOf(after), memoryOf(before)
	var billed int32
	for i := range todo.Restarts {
		o := &todo.Restarts[i]
		slot := state.Slot{Role: o.Failure.Role, Index: int(o.Failure.Index)}
		ended := lifeIn(before, old, slot)
		if !ended.Before(lifeIn(after, memory, slot)) {
			s.violate("8 exactly once: %s is restarted and stays in life %v", slot, ended)
		}
		s.checkEarned(place{slot, ended}, &o.Failure, before)
		if o.Billed {
			billed++
		}
	}
	if n := is.BilledRestarts - was.BilledRestarts; n != billed {
		s.violate("8 exactly once: %d restarts are billed, %d ordered", n, billed)
	}
	if len(todo.Restarts) == 0 && was.Attempt != is.Attempt {
		s.violate("8 exactly once: attempt %d begins without a restart", is.Attempt)
	}
}

// checkEarned asks whether the failure truly happened, and whether a restart may answer it.
func (s *sim) checkEarned(where place, f *v1alpha1.Failure, before *v1alpha1.TrainingJob) {
	code, exited := s.facts.exits[where]
	lost := s.facts.lost[where]
	always := before.Spec.ReplicaSpecs[where.slot.Role].RestartPolicy == v1alpha1.RestartAlways
	switch {
	case lost && f.Cause == v1alpha1.CauseInfrastructure:
	case f.Cause == v1alpha1.CauseInfrastructure && exited && s.facts.outside[where] > 0: // gone after it had failed
	case f.Cause == v1alpha1.CauseRetryable && exited && (code != 0 || always):
		exitCode := before.Spec.ReplicaSpecs[where.slot.Role].RestartPolicy == v1alpha1.RestartExitCode
		if code == 93 || code == 126 || code == 127 || exitCode && (code == 1 || code == 139 || code == 255) {
			s.violate("12 verdicts are earned: exit code %d of %v is restarted", code, where)
		}
	default:
		s.violate("8 exactly once: %v is restarted for a failure of cause %s (%s) that did not happen: exited %t with %d, lost %t",
			where, f.Cause, f.Reason, exited, code, lost)
	}
}

// checkSuccesses : what has succeeded stays so, but for a collective that restarts as a whole.
func (s *sim) checkSuccesses(before, after *v1alpha1.TrainingJob) {
	memory := memoryOf(after)
	for role, m := range memoryOf(before) {
		for i := range 16 {
			again := before.Status.Attempt != after.Status.Attempt && policy.IsCollective(&after.Spec)
			if m.Succeeded.Has(i) && !memory[role].Succeeded.Has(i) && !again {
				s.violate("13 success is not lost: %s-%d", role, i)
			}
			if !m.Succeeded.Has(i) && memory[role].Succeeded.Has(i) && !s.trulySucceeded(before, state.Slot{Role: role, Index: i}) {
				s.violate("12 verdicts are earned: %s-%d is said to have succeeded", role, i)
			}
		}
	}
}

func (s *sim) trulySucceeded(before *v1alpha1.TrainingJob, slot state.Slot) bool {
	code, exited := s.facts.exits[place{slot, lifeIn(before, memoryOf(before), slot)}]
	return exited && code == 0
}

// checkVerdict : Succeeded only by the success policy, Failed only with evidence.
func (s *sim) checkVerdict(before, after *v1alpha1.TrainingJob) {
	memory := memoryOf(after)
	switch f := after.Status.FirstFailure; {
	case isTrue(after, v1alpha1.ConditionSucceeded) && isTrue(after, v1alpha1.ConditionFailed):
		s.violate("11 one phase: Succeeded and Failed")
	case isTrue(after, v1alpha1.ConditionSucceeded):
		for _, slot := range s.awaited(after) {
			if !memory[slot.Role].Succeeded.Has(slot.Index) {
				s.violate("12 verdicts are earned: the job succeeded without %s", slot)
			}
		}
	case isTrue(after, v1alpha1.ConditionFailed) && f == nil:
		s.violate("12 verdicts are earned: the job failed without a failure")
	case isTrue(after, v1alpha1.ConditionFailed):
		slot := state.Slot{Role: f.Role, Index: int(f.Index)}
		if code, exited := s.facts.exits[place{slot, lifeIn(before, memoryOf(before), slot)}]; !exited || code == 0 && f.Role == "" {
			s.violate("12 verdicts are earned: the job failed for %s (%s %s), which did not exit by itself", slot, f.Cause, f.Reason)
		}
	}
}

func (s *sim) awaited(job *v1alpha1.TrainingJob) []state.Slot {
	if job.Spec.SuccessPolicy == v1alpha1.SuccessLeader {
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
