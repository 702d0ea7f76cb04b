package ledger

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// First returns what does not hold of the first status of a job: it has inherited nothing, but for the attempt that it names.
func First(job *v1alpha1.TrainingJob) []string {
	var s sentences
	s.must((job.Status.Attempt == firstAttempt(job) || job.DeletionTimestamp != nil) && job.Status.Restarts == 0 && job.Status.ChargedRestarts == 0,
		"9 inheritance: %s began with attempt %d and %d restarts", job.Name, job.Status.Attempt, job.Status.Restarts)
	return s.Broken
}

// firstAttempt returns the attempt that the job's annotation promises it begins with, 0 without one.
func firstAttempt(job *v1alpha1.TrainingJob) int32 {
	first, err := strconv.ParseInt(job.Annotations["trainingjob.dev/first-attempt"], 10, 32)
	if err != nil {
		return 0
	}
	return int32(first)
}

// Statuses returns what does not hold of two statuses of a job, one after the other.
func Statuses(was, is *v1alpha1.TrainingJobStatus, job *v1alpha1.TrainingJob) []string {
	var s sentences
	name := job.Name
	s.monotone(was, is, name)
	begin := was.Attempt
	if !meta.IsStatusConditionTrue(was.Conditions, v1alpha1.ConditionCreated) {
		begin = max(begin, firstAttempt(job)) // the annotation may go later
	}
	s.must(is.Attempt-begin <= is.Restarts-was.Restarts, "8 exactly once: %s came from attempt %d to %d with %d more restarts", name, begin, is.Attempt, is.Restarts-was.Restarts)
	s.final(was, is, name)
	s.phase(was, is, name)
	s.must(is.CheckpointRequest == nil || is.Phase == v1alpha1.PhaseRunning, "21 asked: %s is %s, and its ranks have a checkpoint request", name, is.Phase)
	return s.Broken
}

// monotone says that what is counted never falls; what was charged falls only by what is given back when the true cause shows late.
func (s *sentences) monotone(was, is *v1alpha1.TrainingJobStatus, name string) {
	for _, c := range []struct {
		counter string
		was, is int64
	}{
		{"attempt", int64(was.Attempt), int64(is.Attempt)},
		{"restarts", int64(was.Restarts), int64(is.Restarts)},
		{"chargedRestarts (what was given back included)", int64(was.ChargedRestarts), int64(is.ChargedRestarts) + givenBack(was, is)},
		{"observedGeneration", was.ObservedGeneration, is.ObservedGeneration},
		{"suspendedSeconds", was.SuspendedSeconds, is.SuspendedSeconds},
	} {
		s.must(c.is >= c.was, "9 monotone: %s of %s fell from %d to %d", c.counter, name, c.was, c.is)
	}
	for role, r := range was.ReplicaStatuses {
		if now, there := is.ReplicaStatuses[role]; there {
			s.must(now.Restarts >= r.Restarts, "9 monotone: restarts of %s of %s fell from %d to %d", role, name, r.Restarts, now.Restarts)
		}
	}
	s.must(is.ChargedRestarts <= is.Restarts, "8 exactly once: %s is charged %d of %d restarts", name, is.ChargedRestarts, is.Restarts)
}

// givenBack returns how many charged restarts were explained, and so given back, from one version to the next. One may have been explained
// before, by another replica's exit, which is charged as well.
func givenBack(was, is *v1alpha1.TrainingJobStatus) int64 {
	var n int64
	for i := range is.Incidents {
		now := &is.Incidents[i]
		charged := slices.ContainsFunc(was.Incidents, func(o v1alpha1.Incident) bool {
			return o.Charged && o.RestartTime.Equal(&now.RestartTime)
		})
		if now.Explained && !now.Charged && charged {
			n++
		}
	}
	return n + int64(Outgrown(was, is))
}

// mostIncidents is how many incidents a status has at most.
const mostIncidents = 10

// Outgrown returns how many charged incidents that nothing has explained the later version has no more room for. It may have explained
// them in the same write.
func Outgrown(was, is *v1alpha1.TrainingJobStatus) int {
	if len(is.Incidents) < mostIncidents {
		return 0
	}
	n := 0
	for i := range was.Incidents {
		o := &was.Incidents[i]
		stays := slices.ContainsFunc(is.Incidents, func(now v1alpha1.Incident) bool { return now.RestartTime.Equal(&o.RestartTime) && now.Pod == o.Pod })
		if o.Charged && !o.Explained && !stays {
			n++
		}
	}
	return n
}

// Joined returns how many replicas the later version says to have ended as part of another replica's incident, without a restart of their own:
// with one that has begun since, or a few seconds after one that is known.
func Joined(was, is *v1alpha1.TrainingJobStatus) int {
	n, begun, kept := 0, int(is.Restarts-was.Restarts), Kept(was, is)
	for i := range is.Incidents {
		incident := &is.Incidents[i]
		switch known := i - begun; {
		case known >= 0 && known < len(kept):
			n += int(incident.Followers - kept[known].Followers)
		case known < 0 && incident.Scope != v1alpha1.ScopeJob:
			n += int(incident.Followers)
		}
	}
	return n
}

// Kept returns the incidents of the earlier version that follow those that have begun since. Completions make way for later ones of their role.
func Kept(was, is *v1alpha1.TrainingJobStatus) []v1alpha1.Incident {
	return slices.DeleteFunc(slices.Clone(was.Incidents), func(known v1alpha1.Incident) bool { return MakesWay(&known, was, is) })
}

// MakesWay reports whether the later version lists a completion of the same role instead of the known one.
func MakesWay(known *v1alpha1.Incident, was, is *v1alpha1.TrainingJobStatus) bool {
	begun := is.Incidents[:min(max(int(is.Restarts-was.Restarts), 0), len(is.Incidents))]
	return slices.ContainsFunc(begun, func(i v1alpha1.Incident) bool {
		return i.Cause == v1alpha1.CauseCompleted && known.Cause == i.Cause && known.Role == i.Role
	})
}

// final says that a verdict is one of two, earned, and the last word.
func (s *sentences) final(was, is *v1alpha1.TrainingJobStatus, name string) {
	holds := func(status *v1alpha1.TrainingJobStatus, c string) bool {
		return meta.IsStatusConditionTrue(status.Conditions, c)
	}
	succeeded, failed, finished := holds(is, v1alpha1.ConditionSucceeded), holds(is, v1alpha1.ConditionFailed), holds(is, v1alpha1.ConditionFinished)
	s.must(!succeeded || !failed, "10 final: %s has succeeded and failed", name)
	s.must(finished == (succeeded || failed), "10 final: %s is Finished %v, Succeeded %v, Failed %v", name, finished, succeeded, failed)
	s.must(finished == (is.CompletionTime != nil), "10 final: %s is Finished %v with completionTime %v", name, finished, is.CompletionTime)
	if failed && is.Reason != v1alpha1.ReasonDeadlineExceeded {
		s.must(is.LastFailure != nil, "12 verdicts are earned: %s failed with %s and no lastFailure", name, is.Reason)
	}
	if !holds(was, v1alpha1.ConditionFinished) {
		return
	}
	s.must(succeeded == holds(was, v1alpha1.ConditionSucceeded) && failed == holds(was, v1alpha1.ConditionFailed), "10 final: the verdict on %s changed", name)
	s.must(was.CompletionTime.Equal(is.CompletionTime), "10 final: completionTime of %s changed", name)
	s.must(was.Attempt == is.Attempt && was.Restarts == is.Restarts && was.ChargedRestarts == is.ChargedRestarts, "10 final: counters of %s changed after its end", name)
}

// phase says that the phase is what the conditions add up to, and follows the published graph.
func (s *sentences) phase(was, is *v1alpha1.TrainingJobStatus, name string) {
	s.must(Step(was.Phase, is.Phase).Published(), "11 phase: %s went from %q to %q", name, was.Phase, is.Phase)
	for condition, phase := range map[string]v1alpha1.Phase{
		v1alpha1.ConditionSucceeded: v1alpha1.PhaseSucceeded, v1alpha1.ConditionFailed: v1alpha1.PhaseFailed,
		v1alpha1.ConditionRunning: v1alpha1.PhaseRunning, v1alpha1.ConditionRestarting: v1alpha1.PhaseRestarting,
		v1alpha1.ConditionQueued: v1alpha1.PhaseQueued,
	} {
		s.must(meta.IsStatusConditionTrue(is.Conditions, condition) == (is.Phase == phase), "11 phase: %s is %q with condition %s %v", name, is.Phase, condition,
			meta.IsStatusConditionTrue(is.Conditions, condition))
	}
	rests := is.Phase == v1alpha1.PhaseSuspended || is.Phase == v1alpha1.PhaseQueued
	s.must(meta.IsStatusConditionTrue(is.Conditions, v1alpha1.ConditionSuspended) == rests, "11 phase: %s is %q with condition Suspended %v", name, is.Phase, !rests)
	for i := range is.Conditions {
		c := &is.Conditions[i]
		before := meta.FindStatusCondition(was.Conditions, c.Type)
		s.must(before == nil || before.Status != c.Status || before.LastTransitionTime.Equal(&c.LastTransitionTime),
			"11 phase: lastTransitionTime of %s of %s moved without its status", c.Type, name)
	}
}
