package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/world"
)

// checkCounted checks invariant 8: each restart is counted once, with the lives that it ends, and truly happened in the life that it names.
func (c *Checker) checkCounted(h *history, before, after *v1alpha1.TrainingJob) {
	was, now := &before.Status, &after.Status
	counted := int(now.Restarts - was.Restarts)
	if counted < 0 || counted > len(now.Incidents) {
		c.violate("8 exactly once: %d restarts become %d, with %d incidents", was.Restarts, now.Restarts, len(now.Incidents))
		return
	}
	anew := now.Incidents[:counted]
	charged := c.checkAmended(h, before, after, counted)
	for i := range anew {
		c.checkIncident(h, before, &anew[i])
		charged += one(anew[i].Charged)
	}
	got := int(now.ChargedRestarts - was.ChargedRestarts)
	outgrown := charged - got // explained, and given back, in the write that has no more room for them
	if outgrown < 0 || outgrown > ledger.Outgrown(was, now) {
		c.violate("8 exactly once: charged restarts change by %d, the incidents ask for %d", got, charged)
		return
	}
	h.happened[v1alpha1.EventIncidentExplained] += outgrown
	c.checkEnded(h, before, after, anew)
	c.checkFaults(h, after)
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// checkIncident asks whether what a new incident says has truly happened, in a life that the job had until now.
func (c *Checker) checkIncident(h *history, before *v1alpha1.TrainingJob, i *v1alpha1.Incident) {
	slot := state.Slot{Role: i.Role, Index: int(i.Index)}
	where := place{slot, lifeIn(before, memoryOf(before), slot)}
	if isTimeRanOut(&i.Failure) {
		c.checkTimeRanOut(before, &i.Failure)
		return
	}
	if i.Cause == v1alpha1.CauseCompleted {
		c.checkCompleted(h, before, where, i)
		return
	}
	if i.Cause == v1alpha1.CauseRequested {
		c.checkRequested(h, before, i)
		return
	}
	if i.Reason == v1alpha1.ReasonDomainFull {
		c.checkStranded(before, i)
		return
	}
	c.checkCause(h, before, where, &i.Failure)
	isLoss := i.Cause == v1alpha1.CauseInfrastructure || i.Cause == v1alpha1.CausePreempted
	if want := !isLoss && !isApart(&before.Spec, i.Role) && !c.waitedInVain(before, i); i.Charged != want && (i.Charged || !mayHaveMissed(before, i) && !c.lacksPeer(before, i)) {
		c.violate("8 exactly once: the incident of %s, cause %s, is charged %t", slot, i.Cause, i.Charged)
	}
}

// checkCompleted asks whether the replica was done, and is one that runs again: alone, for free, and no rank of a collective.
func (c *Checker) checkCompleted(h *history, before *v1alpha1.TrainingJob, where place, i *v1alpha1.Incident) {
	isDone := slices.ContainsFunc(h.fates[where], func(f *fate) bool { return f.exit != nil && *f.exit == 0 })
	isRank := isCollective(&before.Spec) && (i.Role.IsLeader() || i.Role == v1alpha1.Worker)
	if !isDone || isRank || before.Spec.ReplicaSpecs[i.Role].RestartPolicy != v1alpha1.RestartAlways {
		c.violate("8 exactly once: %v counts as done and runs again", where)
	}
	if i.Charged || i.Scope != v1alpha1.ScopeReplica {
		c.violate("8 exactly once: %v was done, and its restart is recorded as %+v", where, i)
	}
}

// checkRequested: a user has requested the restart, and no other was made for it. It is free. A restart of the whole job names no pod; a
// restart of one replica names its pod, has the scope of its role, and comes before the replica has succeeded.
func (c *Checker) checkRequested(h *history, before *v1alpha1.TrainingJob, i *v1alpha1.Incident) {
	slot, words, scope := state.Slot{Role: i.Role, Index: int(i.Index)}, i.Message, v1alpha1.ScopeJob
	if i.Pod != "" {
		words, scope = slot.String()+": "+words, scopeOf(&before.Spec, slot)
	}
	if asked := before.Annotations[v1alpha1.AnnotationRestart]; words == "" || words != asked || h.answered[words] {
		c.violate("8 exactly once: a restart is answered, %q, and %q is asked for (answered: %v)", words, asked, h.answered)
	}
	if i.Charged || i.Scope != scope || i.Pod == "" && i.Node != "" {
		c.violate("8 exactly once: a requested restart is recorded as %+v", i)
	}
	if i.Pod != "" && memoryOf(before)[i.Role].Succeeded.Has(slot.Index) {
		c.violate("8 exactly once: a user restarts %s, which has succeeded", slot)
	}
	h.answered[words] = true
}

// checkCause asks whether the life broke of the cause. A rule may call any end by another name.
func (c *Checker) checkCause(h *history, job *v1alpha1.TrainingJob, where place, f *v1alpha1.Failure) {
	truly := c.causeOf(h, where, job)
	if isByRule(job, f) {
		endsBeside := f.Container != "" && slices.ContainsFunc(h.fates[where], func(f *fate) bool { return f.sideEnded })
		one := truly.loss || truly.exit || truly.fatal || endsBeside
		truly = causes{loss: one, exit: one}
	}
	c.checkRule(job, f)
	switch f.Cause {
	case v1alpha1.CauseInfrastructure, v1alpha1.CausePreempted:
		if !truly.loss {
			c.violate("8 exactly once: %v is counted as lost (%s), which did not happen", where, f.Reason)
		}
	case v1alpha1.CauseFatal:
		c.violate("12 verdicts are earned: the permanent exit of %v is restarted", where)
	default:
		if !truly.exit {
			c.violate("8 exactly once: %v is counted as broken of cause %s (%s), which did not happen: %+v", where, f.Cause, f.Reason, truly)
		}
	}
}

// isTimeRanOut reports whether no replica failed by itself: a deadline passed, or the progress stalled.
func isTimeRanOut(f *v1alpha1.Failure) bool {
	return f.Reason == v1alpha1.ReasonStartupDeadline || f.Reason == v1alpha1.ReasonProgressStalled
}

func (c *Checker) checkTimeRanOut(job *v1alpha1.TrainingJob, f *v1alpha1.Failure) {
	limit := int64(ptr.Deref(job.Spec.RunPolicy.StartupDeadlineSeconds, 1<<30))
	since := job.Status.StartTime
	if f.Reason == v1alpha1.ReasonProgressStalled {
		limit = int64(job.Spec.Progress.StallAfterSeconds)
		since = job.Status.RunningTime
		c.checkCanReport(job, limit)
	}
	if since == nil || c.world.Clock.Since(since.Time) < time.Duration(limit)*time.Second {
		c.violate("12 verdicts are earned: the job restarts because of a time (%s) that is not over", f.Reason)
	}
	if f.Reason == v1alpha1.ReasonStartupDeadline {
		c.checkAttemptIsLate(job, time.Duration(limit)*time.Second)
	}
}

// checkAttemptIsLate: the deadline counts from the attempt's first pod, without the time of the slowest preflight check, and anew from a check that
// failed. Pods that restart in place are older than the attempt.
func (c *Checker) checkAttemptIsLate(job *v1alpha1.TrainingJob, limit time.Duration) {
	h, attempt := c.of(job.UID), int(job.Status.Attempt)
	began := h.begins.attempts[attempt]
	for _, i := range job.Status.Incidents {
		if i.Reason == v1alpha1.ReasonPreflightFailed && int(i.Attempt) == attempt && isNeeded(i.Role) && i.RestartTime.After(began) {
			began = i.RestartTime.Time
		}
	}
	since := c.decided().Sub(began) - c.slowestCheck(job)
	if !h.begins.attempts[attempt].IsZero() && !h.inPlace[attempt] && since < limit-time.Second {
		c.violate("12 verdicts are earned: the job restarts %v after the first pod of attempt %d, and startupDeadlineSeconds are %v", since, attempt, limit)
	}
}

// slowestCheck returns how long the slowest preflight check took of those that the decision saw, in pods that the job needs, in whole seconds of kubelets.
func (c *Checker) slowestCheck(job *v1alpha1.TrainingJob) time.Duration {
	slowest := time.Duration(0)
	for _, o := range c.writer.Process.Cache.List(server.Pods) {
		pod := o.(*corev1.Pod)
		slot, life, _, named := livesIn(job.Name, pod)
		if named && isNeeded(slot.Role) && life == lifeIn(job, memoryOf(job), slot) && len(pod.Status.InitContainerStatuses) > 0 {
			slowest = max(slowest, c.world.CheckedFor(o.GetUID(), c.decided())-time.Second)
		}
	}
	return slowest
}

// checkCanReport: who hangs was created with the port of the page, which shows no report for so long.
func (c *Checker) checkCanReport(job *v1alpha1.TrainingJob, limit int64) {
	if job.Spec.Progress.Port == 0 {
		c.violate("12 verdicts are earned: a job without a page counts as hung")
	}
	for _, o := range c.writer.Process.Cache.List(server.Pods) {
		pod := o.(*corev1.Pod)
		slot, life, _, named := livesIn(job.Name, pod)
		isPresent := named && slot == leader(&job.Spec) && life == lifeIn(job, memoryOf(job), slot)
		if isPresent && !wasGiven(pod, v1alpha1.EnvProgressPort) {
			c.violate("12 verdicts are earned: %s counts as hung, and lacks %s", pod.Name, v1alpha1.EnvProgressPort)
		}
		if since := c.world.Clock.Since(c.world.Reported(pod.UID)); isPresent && since < time.Duration(limit)*time.Second {
			c.violate("12 verdicts are earned: %s counts as hung, and reported %v ago", pod.Name, since)
		}
	}
}

func wasGiven(pod *corev1.Pod, variable string) bool {
	return slices.ContainsFunc(pod.Spec.Containers[0].Env, func(v corev1.EnvVar) bool { return v.Name == variable })
}

// checkAmended: what late evidence changes in the books is an incident that is there, once, and truly happened. It returns by how
// many the charged restarts change for it.
func (c *Checker) checkAmended(h *history, before, after *v1alpha1.TrainingJob, counted int) int {
	change, kept := 0, ledger.Kept(&before.Status, &after.Status)
	for i := range after.Status.Incidents[counted:] {
		is := &after.Status.Incidents[counted+i]
		if i >= len(kept) || !kept[i].RestartTime.Equal(&is.RestartTime) {
			c.violate("8 exactly once: an incident of %v comes from nowhere", is.RestartTime)
			continue
		}
		was := &kept[i]
		if again := was.Explained && is.Pod == was.Pod && is.Cause == was.Cause; !is.Explained || again {
			continue // stronger evidence may explain it once more
		}
		if equality.Semantic.DeepEqual(is.Failure, was.Failure) && is.Charged == was.Charged {
			c.violate("8 exactly once: the incident of %s counts as explained, and nothing of it changes", is.Pod)
		}
		h.happened[v1alpha1.EventIncidentExplained]++
		change += one(is.Charged) - one(was.Charged)
		if is.Pod == was.Pod && is.Cause == was.Cause {
			continue // it happened as was said, for want of another
		}
		if c.world.Skew[is.Node] < max(0, c.world.Skew[was.Node]) && is.ExitCode != nil && *is.ExitCode == 137 {
			continue // the clocks differ: the kill may have come before the deletion, or with the failure, and nothing shows which
		}
		where, _ := placeOf(after.Name, &is.Failure)
		c.checkCause(h, before, where, &is.Failure)
	}
	return change
}

// mayEnd reports whether a life may end without an incident: the job ended it, no status has seen it run, or its pods were taken away before they ran.
func (h *history) mayEnd(p place, isTold bool, started state.IndexSet) bool {
	return isTold || !started.Has(p.slot.Index) || len(h.fates[p]) > 0 && !slices.ContainsFunc(h.fates[p], func(f *fate) bool { return f.ran })
}

// isJoined reports whether the slot ends as part of another's incident, or was given up and runs again with a role that does.
func isJoined(joiners []state.Slot, slot state.Slot, wasGivenUp bool) bool {
	return slices.ContainsFunc(joiners, func(other state.Slot) bool { return other == slot || wasGivenUp && other.Role == slot.Role })
}

// checkEnded: no life ends without an incident, a resumption or scaling, unless its pod was told to end before it ran; and
// each incident ends one. As many replicas end as part of another's incident as the incidents count, and each has
// truly broken.
func (c *Checker) checkEnded(h *history, before, after *v1alpha1.TrainingJob, anew []v1alpha1.Incident) {
	resumed := is(before, v1alpha1.ConditionSuspended) && !is(after, v1alpha1.ConditionSuspended)
	old, memory := memoryOf(before), memoryOf(after)
	joiners := c.joiners(h, before, after, anew)
	c.checkJoined(before, after, joiners, anew)
	for _, role := range before.Spec.Roles() {
		for i := range int(before.Spec.Replicas(role)) {
			slot := state.Slot{Role: role, Index: i}
			was, now := lifeIn(before, old, slot), lifeIn(after, memory, slot)
			switch named, covered := covers(anew, slot); {
			case named && was == now:
				c.violate("8 exactly once: %s is restarted and stays in life %v", slot, was)
			case was != now && !covered && !isJoined(joiners, slot, old[role].GivenUp.Has(i)) && !h.mayEnd(place{slot, was}, resumed, old[role].Started):
				c.violate("8 exactly once: life %v of %s ends and no restart is counted", was, slot)
			}
		}
	}
	if after.Status.Attempt-before.Status.Attempt > 1 || after.Status.Attempt != before.Status.Attempt && len(anew) != 1 {
		c.violate("8 exactly once: attempt %d becomes %d with %d restarts counted", before.Status.Attempt, after.Status.Attempt, len(anew))
	}
	for i := range anew {
		c.checkScope(h, before, &anew[i])
	}
}

// covers reports whether an incident names the slot, and whether one restarts it.
func covers(incidents []v1alpha1.Incident, slot state.Slot) (named, covered bool) {
	for _, i := range incidents {
		own := i.Role == slot.Role && int(i.Index) == slot.Index
		named = named || own
		covered = covered || own || i.Scope == v1alpha1.ScopeJob || i.Scope == v1alpha1.ScopeRole && i.Role == slot.Role
	}
	return named, covered
}

// seesEnded reports whether the process that has just written has seen that the incident's pod ended, and says so: its cache may be behind.
func (c *Checker) seesEnded(job *v1alpha1.TrainingJob, i *v1alpha1.Incident) bool {
	if c.writer == nil || i.Reason == v1alpha1.ReasonVanished {
		return false
	}
	pod, _ := c.writer.Process.Cache.Get(server.Pods, client.ObjectKey{Namespace: job.Namespace, Name: i.Pod}).(*corev1.Pod)
	return pod != nil && world.IsOver(pod)
}

// checkScope: the whole job if a time of the attempt ran out, else as a rule of the user's says, else as the framework and the role have it. A hang
// has no other scope of its own, and what is no failure has no rules.
func (c *Checker) checkScope(h *history, job *v1alpha1.TrainingJob, i *v1alpha1.Incident) {
	isOfAttempt := i.Reason == v1alpha1.ReasonStartupDeadline || i.Reason == v1alpha1.ReasonDomainFull
	switch rule, isKnown := ruleFor(&job.Spec, &i.Failure); {
	case i.Cause == v1alpha1.CauseRequested || i.Cause == v1alpha1.CauseCompleted:
	case isOfAttempt && i.Scope != v1alpha1.ScopeJob:
		c.violate("8 exactly once: %s is a restart of scope %s, and the time of the whole attempt ran out", i.Reason, i.Scope)
	case isOfAttempt || !isKnown:
	case rule != nil && rule.Scope != "":
		if i.Scope != rule.Scope {
			c.violate("8 exactly once: the restart of %s has scope %s, and a rule sets %s", i.Pod, i.Scope, rule.Scope)
		}
	case i.Reason != v1alpha1.ReasonProgressStalled:
		c.checkOwnScope(h, job, i)
	}
}

// checkOwnScope: a pod that its node turned away is restarted alone, as long as anybody can know that.
func (c *Checker) checkOwnScope(h *history, job *v1alpha1.TrainingJob, i *v1alpha1.Incident) {
	slot := state.Slot{Role: i.Role, Index: int(i.Index)}
	want, rejected, ran := scopeOf(&job.Spec, slot), false, false
	for _, f := range h.fates[place{slot, lifeIn(job, memoryOf(job), slot)}] { // several if one was deleted before anybody saw it run
		rejected, ran = rejected || f.rejected, ran || !f.rejected
	}
	alone := rejected && i.Scope == v1alpha1.ScopeReplica
	if rejected && !ran && c.seesEnded(job, i) {
		want = v1alpha1.ScopeReplica
	}
	if i.Scope != want && !alone {
		c.violate("8 exactly once: the restart of %s has scope %s, not %s", slot, i.Scope, want)
	}
}
