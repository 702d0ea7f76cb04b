package plan

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/framework"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// converge returns the steps from the pods there are to the pods that the status, as read, wants; and the time
// (zero: none) at which more can be done although nothing else happens.
func converge(s *state.Snapshot, v *policy.Verdict) ([]Step, time.Time) {
	steps, wake := stepsOf(s, v)
	wake = state.Earliest(wake, nextWord(s), nextForcedSpare(s))
	if slices.ContainsFunc(steps, func(step Step) bool { _, is := step.(DeleteGroup); return is }) {
		wake = state.Earliest(wake, s.Now.Add(seeGroupGoneAfter))
	}
	return steps, wake
}

// seeGroupGoneAfter is how long after the deletion of a pod group it is deleted again if it is there all the same: nothing
// else would wake a job that has ended.
const seeGroupGoneAfter = 5 * time.Second

func stepsOf(s *state.Snapshot, v *policy.Verdict) ([]Step, time.Time) {
	switch v.Kind {
	case policy.Final:
		return cleanUp(s, v)
	case policy.Suspend:
		steps, wake := deletePods(s, func(p state.Pod) bool { return !p.HasSucceeded() || isDone(s, &p) }, WhySuspended)
		steps = append(steps, deleteFormer(s)...)
		steps = append(steps, deleteGroups(s, func(state.Group) bool { return true })...)
		return append(steps, deleteSpares(s, s.Spares)...), wake
	case policy.Continue, policy.Hold:
		inPlace := restartInPlace(s)
		steps, forced := deletePods(s, func(p state.Pod) bool { return isOver(s, v, &p) && !isKept(s, &p) && !inPlace.kept[p.UID] }, WhyPastLife)
		done, end := deletePods(s, func(p state.Pod) bool { return isDone(s, &p) }, WhyDone)
		steps, forced = append(append(steps, done...), inPlace.steps...), state.Earliest(forced, end)
		asks, again := askPods(s)
		steps = append(steps, asks...)
		steps = append(steps, deleteFormer(s)...)
		steps = append(steps, deleteGroups(s, isPastGroup(s))...)
		steps = append(steps, deleteOfGoingGroup(s)...)
		if s.Job.Spec.IsSuspended() { // its ranks save a checkpoint: no replica joins them any more
			return steps, state.Earliest(forced, again, inPlace.wake)
		}
		creates, wake := createMissing(s, v)
		steps = append(steps, creates...)
		if from := sparesFrom(s); s.Now.Before(from) && lacksSpare(s) {
			wake = state.Earliest(wake, from)
		}
		return append(steps, keepSpares(s, v)...), state.Earliest(forced, wake, again, inPlace.wake)
	default:
		return nil, time.Time{}
	}
}

// seeDeletionAfter is how long after its deletion a job that is there all the same is deleted again.
const seeDeletionAfter = time.Minute

// cleanUp returns the steps that a finished job's clean-up policy and time to live ask for.
func cleanUp(s *state.Snapshot, v *policy.Verdict) ([]Step, time.Time) {
	if v.Finishing {
		keepsAll := s.Job.Spec.RunPolicy.CleanPodPolicy == v1alpha1.CleanNone
		steps, wake := deletePods(s, func(p state.Pod) bool { return isDone(s, &p) && !keepsAll }, WhyDone)
		return append(steps, deleteSpares(s, s.Spares)...), wake
	}
	switch {
	case v.Expired && s.Refusal.Pends(s.Now):
		return nil, s.Refusal.Retry
	case v.Expired:
		return []Step{DeleteJob{UID: s.Job.UID}}, s.Now.Add(seeDeletionAfter)
	}
	steps, wake := deletePods(s, func(p state.Pod) bool {
		switch s.Job.Spec.RunPolicy.CleanPodPolicy {
		case v1alpha1.CleanAll:
			return true
		case v1alpha1.CleanNone:
			return s.IsPast(&p) && !hasEnded(s, &p)
		default:
			return !hasEnded(s, &p)
		}
	}, WhyCleanUp)
	if !slices.ContainsFunc(s.Pods, func(p state.Pod) bool { return s.MayAct(&p) && joinsGang(&s.Job.Spec, s.Gang.Scheduler, p.Slot.Role) }) {
		steps = append(steps, deleteGroups(s, func(state.Group) bool { return true })...)
	}
	return append(steps, deleteSpares(s, s.Spares)...), wake
}

// deleteOfGoingGroup returns the steps that end the pods without a node whose group is being deleted and held by no other, as the group waits for them in
// turn. They are created again in the same life, as they have never run. A pod that gets a node meanwhile stays.
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

// isOver reports whether the pod is of a life that is over, or of a slot that is taken away now.
func isOver(s *state.Snapshot, v *policy.Verdict, p *state.Pod) bool {
	return p.Life.Before(s.Life(p.Slot)) || isTakenAway(s, v, p)
}

// isTakenAway reports whether the job no longer has the pod's slot, and the ranks have had their time to save a checkpoint.
func isTakenAway(s *state.Snapshot, v *policy.Verdict, p *state.Pod) bool {
	return !s.InRange(p.Slot) && v.Asked == nil
}

// isKept reports whether a pod of a past life is kept for its log: the one that the latest failure began with, or one that ended alike, as
// it may have been first. They give way if a quota that counts ended pods refuses another one.
func isKept(s *state.Snapshot, p *state.Pod) bool {
	f := s.Job.Status.LastFailure
	return f != nil && hasEnded(s, p) && !s.Refusal.CountsEnded() && (f.Pod == p.Name || p.Deleted.IsZero() && failure.EndedAlike(f, p))
}

// hasEnded reports whether there is nothing left in the pod to end: it has finished, or is about to, on a node that will say so.
func hasEnded(s *state.Snapshot, p *state.Pod) bool {
	return !p.CanRun() || p.Ended && !s.IsLost(p)
}

// isDone reports whether the pod's work is done and recorded, and only its side-cars run: they hold its node for nothing. After the
// deletion of the pod only the status shows its success.
func isDone(s *state.Snapshot, p *state.Pod) bool {
	isWritten := s.IsFinished() || s.Memory[p.Slot.Role] != nil && s.Memory[p.Slot.Role].Succeeded.Has(p.Slot.Index)
	return p.MainSucceeded && isWritten && p.Life == s.Life(p.Slot) && !hasEnded(s, p)
}

// createMissing returns the steps that create the Service and the pods of present lives that are missing and may begin. The
// Service comes first: without it the pods would not find each other.
func createMissing(s *state.Snapshot, v *policy.Verdict) (steps []Step, wake time.Time) {
	if s.Refusal.Pends(s.Now) {
		if wake = s.Refusal.Retry; s.Refusal.Pods == nil {
			return nil, wake
		}
	}
	if !s.HasService {
		steps = append(steps, CreateService{build.Service(s.Job, framework.Ports(s.Job))})
	}
	if lacksLease(s) {
		steps = append(steps, CreateLease{build.ProgressLease(s.Job)})
	}
	if next := nextAttempt(s); s.Now.Before(next) {
		return steps, state.Earliest(wake, next)
	}
	if !s.AttemptMayBegin() {
		return steps, wake
	}
	first, wake := indispensableFirst(s, mayTry(s)), state.Earliest(wake, nextLife(s))
	group, ready := groupUp(s, members(s, first))
	if !ready {
		return steps, s.Now.Add(askAgain)
	}
	if len(first) > 0 && s.Job.Spec.LaunchesBySSH() {
		steps = append(steps, CreateSSHKey{state.SSHSecretName(s.Job)})
	}
	return append(append(steps, group...), createPods(s, v, first)...), wake
}

// nextAttempt returns when the present attempt may begin, after a whole-job restart; zero if at once.
func nextAttempt(s *state.Snapshot) time.Time {
	if next := s.Job.Status.NextStartTime; next != nil {
		return next.Time
	}
	return time.Time{}
}

// due returns the missing replicas whose lives may begin now.
func due(s *state.Snapshot) []*state.Replica {
	if s.Now.Before(nextAttempt(s)) || !s.AttemptMayBegin() {
		return nil
	}
	return slices.DeleteFunc(missing(s), func(r *state.Replica) bool { return s.Now.Before(s.NextStart(r.Slot)) })
}

// mayTry returns the missing replicas whose lives may begin now, without those that the API server has just refused.
func mayTry(s *state.Snapshot) []*state.Replica {
	return slices.DeleteFunc(due(s), func(r *state.Replica) bool { return s.Refusal.Delays(state.PodName(s.Job.Name, r.Slot, r.Life), s.Now) })
}

// nextLife returns when the next of the missing replicas may begin its life that may not now; zero if there is none.
func nextLife(s *state.Snapshot) time.Time {
	var next time.Time
	for _, r := range missing(s) {
		if start := s.NextStart(r.Slot); s.Now.Before(start) {
			next = state.Earliest(next, start)
		}
	}
	return next
}

func lacksLease(s *state.Snapshot) bool { return s.Job.Spec.Progress != nil && !s.HasLease }

// missing returns the replicas that should have a pod, have none, and whose former pod can no longer act. A life whose pod is gone
// is not run again: its restart is held back, not forgotten.
func missing(s *state.Snapshot) []*state.Replica {
	var list []*state.Replica
	for r := range s.Replicas() {
		if r.State == state.Missing && !r.FormerCanAct {
			list = append(list, r)
		}
	}
	return list
}

// isIncomplete reports whether the job lacks a child that it should have by now.
func isIncomplete(s *state.Snapshot) bool {
	return !s.HasService || lacksLease(s) || len(due(s)) > 0
}

// isFirstRecord reports whether the job has not been taken on before.
func isFirstRecord(s *state.Snapshot) bool {
	return !s.Is(v1alpha1.ConditionCreated)
}
