package plan

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
)

// todo collects the steps of a plan, and when more steps follow without another event; zero for never.
type todo struct {
	steps []Step
	wake  time.Time
}

func (t *todo) add(steps []Step, wake time.Time) {
	t.steps, t.wake = append(t.steps, steps...), state.Earliest(t.wake, wake)
}

func (t *todo) addSteps(steps []Step) { t.steps = append(t.steps, steps...) }

// converge returns the steps from the present pods to the pods that the status, as read, wants.
func converge(s *state.Snapshot, v *policy.Verdict) todo {
	t := todo{wake: nextLingering(s)}
	switch v.Kind {
	case policy.Final:
		t.cleanUp(s, v)
		t.addSteps(endWaiting(s, nil, t.steps))
		t.add(setGates(s))
	case policy.Suspend:
		t.add(deletePods(s, func(p state.Pod) bool { return endsBySuspension(s, v, &p) }, WhySuspended))
		t.addSteps(endWaiting(s, nil, t.steps))
		t.addSteps(deleteFormer(s))
		t.add(deleteGroups(s, everyGroup))
	case policy.Continue, policy.Hold:
		t.goOn(s, v)
	}
	return t
}

func (t *todo) goOn(s *state.Snapshot, v *policy.Verdict) {
	inPlace := restartInPlace(s)
	t.add(deletePods(s, func(p state.Pod) bool { return isOver(s, v, &p) && !isKept(s, v, &p) && !inPlace.kept[p.UID] }, WhyPastLife))
	t.add(endSideCars(s))
	t.addSteps(endWaiting(s, inPlace.kept, t.steps))
	t.add(inPlace.steps, inPlace.wake)
	t.add(setGates(s))
	t.add(requestCheckpoint(s))
	t.addSteps(deleteFormer(s))
	isPast := func(g state.Group) bool { return g.Name != state.GroupNameOf(s.Job) || g.Scheduler != s.Gang.Scheduler }
	t.add(deleteGroups(s, isPast))
	t.addSteps(deleteOfGoingGroup(s))
	t.add(deleteOfWellNodes(s))
	if s.Job.Spec.IsSuspended() { // its ranks save a checkpoint: no pod joins them
		return
	}
	t.add(createMissing(s, v))
}

// seeDeletionAfter is how long after its deletion a job that still exists is deleted again.
const seeDeletionAfter = time.Minute

// cleanUp applies the clean-up policy and the time to live of a finished job.
func (t *todo) cleanUp(s *state.Snapshot, v *policy.Verdict) {
	policy := s.Job.Spec.RunPolicy.CleanPodPolicy
	switch {
	case v.Finishing:
		if policy != v1alpha1.CleanNone {
			t.add(endSideCars(s))
		}
		t.add(deletePods(s, func(p state.Pod) bool { return s.IsPast(&p) && !hasEnded(s, &p) }, WhyPastLife)) // it is no rank that may end by itself
	case v.Expired && s.Refusal.Pends(s.Now):
		t.add(nil, s.Refusal.Retry)
		return
	case v.Expired:
		t.add([]Step{DeleteJob{UID: s.Job.UID}}, s.Now.Add(seeDeletionAfter))
		return
	default:
		t.add(deletePods(s, isToClean(s, policy), WhyCleanUp))
		if !slices.ContainsFunc(s.Pods, func(p state.Pod) bool { return s.MayAct(&p) && joinsGang(&s.Job.Spec, s.Gang.Scheduler, p.Slot.Role) }) {
			t.add(deleteGroups(s, everyGroup))
		}
	}
}

// isToClean returns a function that reports whether the policy deletes the pod of a finished job.
func isToClean(s *state.Snapshot, policy v1alpha1.CleanPodPolicy) func(state.Pod) bool {
	return func(p state.Pod) bool {
		switch policy {
		case v1alpha1.CleanAll:
			return true
		case v1alpha1.CleanNone:
			return (s.IsPast(&p) || !p.HasStarted()) && !hasEnded(s, &p) // a pod that never ran has no log, and would hold its next node
		default:
			return !hasEnded(s, &p)
		}
	}
}

// deleteOfGoingGroup returns the steps that delete pods without a node whose pod group is being deleted and holds no running pod.
// The group waits for these pods in turn. They are created again in the same life, because they never ran. A pod that gets a node
// meanwhile stays.
func deleteOfGoingGroup(s *state.Snapshot) []Step {
	if group := s.PresentGroup(); group == nil || !group.IsGoing() || isHeld(s) {
		return nil
	}
	var steps []Step
	for i := range s.Pods {
		if p := &s.Pods[i]; !s.IsPast(p) && p.CanRun() && !p.Scheduled() && p.Deleted.IsZero() && joinsGang(&s.Job.Spec, s.Gang.Scheduler, p.Slot.Role) {
			steps = append(steps, DeletePod{Name: p.Name, UID: p.UID, Version: p.Version, Why: WhyGroupGoing})
		}
	}
	return steps
}

// isOver reports whether the pod belongs to an earlier life, or to a slot that the job no longer has. The ranks have time to save a
// checkpoint before a slot is removed.
func isOver(s *state.Snapshot, v *policy.Verdict, p *state.Pod) bool {
	return p.Life.Before(s.Life(p.Slot)) || !s.InRange(p.Slot) && v.Asked == nil
}

// isKept reports whether a pod of an earlier life is kept for its log. It is the pod of the latest failure, as late evidence shows it, or one that
// ended at about the same time and may have been first. The pods are deleted if a quota that counts ended pods refuses another one.
func isKept(s *state.Snapshot, v *policy.Verdict, p *state.Pod) bool {
	f := v.Accounts.LastFailure
	return f != nil && hasEnded(s, p) && !s.Crowded && (f.Pod == p.Name || p.Deleted.IsZero() && failure.EndedBeside(f, p))
}

// hasEnded reports whether the pod has finished, or is about to finish on a node that will report it.
func hasEnded(s *state.Snapshot, p *state.Pod) bool {
	return !p.CanRun() || p.Ended && !s.IsLost(p)
}

// endsBySuspension reports whether a suspension deletes the pod. What has succeeded is kept for its log, as is the pod of the latest failure: a
// user suspends the job to repair it. Side-cars run until the success is recorded, and no longer if it never is.
func endsBySuspension(s *state.Snapshot, v *policy.Verdict, p *state.Pod) bool {
	r := s.Replica(p.Slot)
	counts := r != nil && r.State == state.Succeeded && p.Life == s.Life(p.Slot)
	return !p.HasSucceeded() && !isKept(s, v, p) || !hasEnded(s, p) && (!counts || isDone(s, p))
}

// endSideCars returns the steps that delete the pods whose side-cars still run when their time to end by themselves is over: they hold
// a node for nothing.
func endSideCars(s *state.Snapshot) (steps []Step, wake time.Time) {
	until := func(p *state.Pod) time.Time { return p.EndSeen.Add(s.Job.Spec.RunPolicy.FinishGrace()) }
	steps, wake = deletePods(s, func(p state.Pod) bool { return isDone(s, &p) && !s.Now.Before(until(&p)) }, WhyDone)
	for i := range s.Pods {
		if p := &s.Pods[i]; isDone(s, p) && s.Now.Before(until(p)) {
			wake = state.Earliest(wake, until(p))
		}
	}
	return steps, wake
}

// isDone reports whether the pod's success is recorded while its side-cars still run. After the deletion only the status shows the success.
func isDone(s *state.Snapshot, p *state.Pod) bool {
	isWritten := s.IsFinished() || s.Memory[p.Slot.Role] != nil && s.Memory[p.Slot.Role].Succeeded.Has(p.Slot.Index)
	return p.MainSucceeded && isWritten && p.Life == s.Life(p.Slot) && !hasEnded(s, p)
}

// createMissing returns the steps that create the Service and the missing pods of present lives that may begin. The Service comes
// first: without it the pods would not find each other.
func createMissing(s *state.Snapshot, v *policy.Verdict) (steps []Step, wake time.Time) {
	if s.Refusal.Pends(s.Now) {
		if wake = s.Refusal.Retry; s.Refusal.Pods == nil {
			return nil, wake
		}
	}
	if !s.HasService && !state.HasReplicaServices(s.Job) {
		steps = append(steps, CreateService{build.Service(s.Job, framework.Ports(s.Job))})
	}
	if next := s.NextAttempt(); s.Now.Before(next) {
		return steps, state.Earliest(wake, next)
	}
	if !s.AttemptMayBegin() {
		return steps, wake
	}
	mayTry := slices.DeleteFunc(due(s), func(r *state.Replica) bool { return s.Refusal.Delays(state.PodName(s.Job.Name, r.Slot, r.Life), s.Now) })
	first, wake := leastWorkersFirst(s, membersFirst(s, mayTry)), state.Earliest(wake, nextLife(s))
	group, ready := ensureGroup(s, first)
	if !ready {
		return steps, s.Now.Add(retryGroupAfter)
	}
	if len(first) > 0 && s.Job.Spec.LaunchesBySSH() {
		steps = append(steps, CreateSSHKey{state.SSHSecretName(s.Job)})
	}
	return append(append(steps, group...), createPods(s, v, first)...), wake
}
