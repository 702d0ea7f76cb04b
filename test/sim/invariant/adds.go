package invariant

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// What the status shows twice adds up, as docs/api.md promises it of each field.

// checkSum checks invariant 8: lastFailure is the failure behind the latest restart, as late evidence has it, and followers are the replicas that
// restarted with it.
func (c *Checker) checkSum(before, after *v1alpha1.TrainingJob) {
	was, now := &before.Status, &after.Status
	anew := now.Incidents[:min(max(int(now.Restarts-was.Restarts), 0), len(now.Incidents))]
	isChanged := !equality.Semantic.DeepEqual(was.Incidents, now.Incidents)
	latest := slices.IndexFunc(now.Incidents, func(i v1alpha1.Incident) bool {
		return i.Cause != v1alpha1.CauseRequested && i.Cause != v1alpha1.CauseCompleted
	})
	if isChanged && latest >= 0 && !keepsLastFailure(before, after) && len(now.Incidents) < 10 && !is(after, v1alpha1.ConditionFailed) && !givesUp(before, after) {
		f, i := now.LastFailure, &now.Incidents[latest]
		isOne := func(o v1alpha1.Incident) bool { // of several that restart at once, it is the first that failed
			return o.RestartTime.Equal(&i.RestartTime) && equality.Semantic.DeepEqual(*f, o.Failure)
		}
		if f == nil || !slices.ContainsFunc(now.Incidents, isOne) {
			c.violate("8 exactly once: the latest incident is of %s (%s), and lastFailure is %+v", i.Pod, i.Reason, f)
		}
	}
	if len(anew) == 1 && anew[0].Scope == v1alpha1.ScopeJob && was.Attempt != now.Attempt {
		c.checkFollowers(after, &anew[0])
	}
}

// keepsLastFailure reports whether lastFailure may be of no incident: what broke just before a suspension is none.
func keepsLastFailure(before, after *v1alpha1.TrainingJob) bool {
	suspends := is(after, v1alpha1.ConditionSuspended) && !is(before, v1alpha1.ConditionSuspended)
	wasSuspended := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionSuspended) != nil
	return suspends || wasSuspended && equality.Semantic.DeepEqual(before.Status.LastFailure, after.Status.LastFailure)
}

// checkRan: a job counts as running when its rendezvous has a host, as progressing while rank 0 is not done, as redoing steps after a restart of the
// whole job, and as having run until its failure.
func (c *Checker) checkRan(h *history, before, after *v1alpha1.TrainingJob) {
	was, now, first := &before.Status, &after.Status, leader(&after.Spec)
	m := memoryOf(after)[first.Role]
	isHosted := kindOf(&after.Spec) == elasticCollective && (after.Spec.Elastic.Rendezvous == nil || after.Spec.Elastic.Rendezvous.Endpoint == "")
	if isHosted && !is(before, v1alpha1.ConditionRunning) && is(after, v1alpha1.ConditionRunning) && !m.Started.Has(first.Index) && !m.Succeeded.Has(first.Index) {
		c.violate("12 verdicts are earned: the job is %s, and %s, where its workers meet, has not run", now.Phase, first)
	}
	if p := meta.FindStatusCondition(now.Conditions, v1alpha1.ConditionProgressing); p != nil && m.Succeeded.Has(first.Index) {
		c.violate("12 verdicts are earned: Progressing is %s (%s), and %s has succeeded", p.Status, p.Reason, first)
	}
	if now.LostSeconds.Redone > was.LostSeconds.Redone && (was.Attempt == h.first.Status.Attempt || h.books.step == 0) {
		c.violate("12 verdicts are earned: steps are redone for %d s, in attempt %d after step %d", now.LostSeconds.Redone, was.Attempt, h.books.step)
	}
	c.checkRunningSeconds(was, now)
}

// checkRunningSeconds: the time in which the job ran ends with its failure.
func (c *Checker) checkRunningSeconds(was, now *v1alpha1.TrainingJobStatus) {
	running := meta.FindStatusCondition(was.Conditions, v1alpha1.ConditionRunning)
	if was.Attempt == now.Attempt || running == nil || running.Status != "True" || len(c.world.Skew) > 0 || isTimeRanOut(&now.Incidents[0].Failure) {
		return
	}
	ran, most := now.RunningSeconds-was.RunningSeconds, max(0, now.Incidents[0].Time.Sub(running.LastTransitionTime.Time))+time.Second
	if time.Duration(ran)*time.Second > most {
		c.violate("12 verdicts are earned: the job counts as having run for %d s, and failed after %v", ran, most)
	}
}

// givesUp reports whether a replica is given up by this status: its failure is the latest, and restarts nothing.
func givesUp(before, after *v1alpha1.TrainingJob) bool {
	for role, status := range after.Status.Memory.Roles {
		if status.GivenUp != before.Status.Memory.Roles[role].GivenUp {
			return true
		}
	}
	return false
}

// checkFollowers: all replicas follow into a new attempt but the one that is named, and those whose success stays.
func (c *Checker) checkFollowers(after *v1alpha1.TrainingJob, i *v1alpha1.Incident) {
	memory, follow := memoryOf(after), 0
	for _, role := range after.Spec.Roles() {
		for index := range int(after.Spec.Replicas(role)) {
			named := role == i.Role && index == int(i.Index)
			follow += one(!named && !memory[role].Succeeded.Has(index))
		}
	}
	if int(i.Followers) != follow {
		c.violate("8 exactly once: %d replicas follow %s into attempt %d, and the incident counts %d", follow, state.Slot{Role: i.Role, Index: int(i.Index)}, after.Status.Attempt, i.Followers)
	}
}

// checkBudgets checks invariant 25: a budget shows no charge that is past its window.
func (c *Checker) checkBudgets(h *history, job *v1alpha1.TrainingJob, slack time.Duration) {
	window := time.Duration(*job.Spec.Recovery.WindowSeconds)*time.Second + slack
	for _, b := range job.Status.Budgets {
		if made := h.books.made(b.Name, window, c.world.Clock.Now()); int(b.Used) > made {
			c.violate("25 time is the observer's: %s shows %d charges, and %d are within its window", b.Name, b.Used, made)
		}
	}
}
