package invariant

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/api/schema"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
)

// checkStatus holds each status that is written against the one before it.
func (c *Checker) checkStatus(before, after *v1alpha1.TrainingJob, d *operator.Decision) {
	h := c.of(after.UID)
	before = c.begun(before, after)
	was, now := &before.Status, &after.Status
	if c.Say != nil {
		workers := now.Memory.Roles[v1alpha1.Worker]
		c.Say("status %s %s: %.80s; attempt %d, %d restarts (%d charged), workers started %q succeeded %q replaced %q", now.Phase, now.Reason, now.Message,
			now.Attempt, now.Restarts, now.ChargedRestarts, workers.Started, workers.Succeeded, workers.Replacements)
	}
	if d == nil || !d.Leads() {
		h.rogue = versionOf(after)
	}
	if err := schema.CheckStatus(now); err != nil {
		c.violate("20 bounded: the API server refuses the status: %v", err)
	}
	if edge := ledger.Step(was.Phase, now.Phase); edge.From != edge.To {
		c.Edges[edge] = true
	}
	c.violateAll(ledger.Statuses(was, now, after))
	h.restarts.note(now)
	h.noteMethod(before, after)
	h.begins.note(before, after, c.decided())
	c.checkBounded(now)
	h.noteTransitions(before, after)
	h.noteAvoided(&before.Status, &after.Status, c.world.Clock.Now())
	if is(before, v1alpha1.ConditionFinished) {
		c.checkFinal(was, now)
		return
	}
	if h.first == nil {
		h.first = after
		c.checkNew(after)
	}
	c.checkMonotone(before, after)
	c.checkCheckpoint(was.Progress, now.Progress)
	c.checkCounted(h, before, after)
	c.checkAvoided(h, before, after)
	c.checkSum(before, after)
	c.checkRan(h, before, after)
	c.checkBackOff(h, before, after)
	c.checkSuccesses(h, before, after)
	c.checkVerdict(h, before, after)
	c.checkGivenUp(h, before, after)
	c.checkStop(before, after, d)
	c.checkRepeated(h, before, after)
	h.books.note(before, after, c.decided())
}

// begun returns a job that had no status as it is to begin: in the attempt that its annotation promises, 0 without one.
func (c *Checker) begun(before, after *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	text, isSet := before.Annotations["trainingjob.dev/first-attempt"]
	if !isSet || is(before, v1alpha1.ConditionCreated) || before.DeletionTimestamp != nil {
		return before
	}
	first, err := strconv.Atoi(text)
	if err != nil || !is(after, v1alpha1.ConditionCreated) || int(after.Status.Attempt) != first {
		c.violate("9 monotone: attempt %d, and the job was to begin with %q", after.Status.Attempt, text)
	}
	begun := before.DeepCopy()
	begun.Status.Attempt = after.Status.Attempt
	return begun
}

// checkBounded checks invariant 20: no text grows with what happens.
func (c *Checker) checkBounded(now *v1alpha1.TrainingJobStatus) {
	longest := len(now.Message)
	if f := now.LastFailure; f != nil {
		longest = max(longest, len(f.Message))
	}
	for i := range now.Conditions {
		longest = max(longest, len(now.Conditions[i].Message))
	}
	if longest > 4096 || len(now.Message) > 1024 || now.LastFailure != nil && len(now.LastFailure.Message) > 1024 || len(now.Conditions) > 16 || len(now.Incidents) > 10 || len(now.AvoidedNodes) > 16 {
		c.violate("20 bounded: a message of %d bytes, %d conditions", longest, len(now.Conditions))
	}
}

// checkFinal: after the end the conditions and the last failure stay as they are, too.
func (c *Checker) checkFinal(was, now *v1alpha1.TrainingJobStatus) {
	if !equality.Semantic.DeepEqual(was.Conditions, now.Conditions) || !equality.Semantic.DeepEqual(was.LastFailure, now.LastFailure) {
		c.violate("10 a verdict is final: the conditions or the last failure of a job that is %s change", was.Phase)
	}
}

// checkNew: a job that nobody has written before has inherited nothing.
func (c *Checker) checkNew(job *v1alpha1.TrainingJob) {
	c.violateAll(ledger.First(job))
	now := &job.Status
	for role, status := range now.Memory.Roles {
		if status.Started+status.Succeeded+status.Replacements+status.RestartsInRow+status.NextStarts != "" {
			c.violate("9 monotone: a new job inherits for %s started %q, succeeded %q, replaced %q", role, status.Started, status.Succeeded, status.Replacements)
		}
	}
}

// checkMonotone: no life falls.
func (c *Checker) checkMonotone(before, after *v1alpha1.TrainingJob) {
	memory, old := memoryOf(after), memoryOf(before)
	for role, m := range old {
		for index := range m.Replacements {
			slot := state.Slot{Role: role, Index: index}
			if lifeIn(after, memory, slot).Before(lifeIn(before, old, slot)) {
				c.violate("9 monotone: the life of %s fell", slot)
			}
		}
	}
}

// waits are the reasons for which pods have no node that Events tell of.
var waits = []string{v1alpha1.ReasonUnschedulable, v1alpha1.ReasonGangWaiting, v1alpha1.ReasonGangUnavailable}

// noteTransitions counts what Events may tell of.
func (h *history) noteTransitions(before, after *v1alpha1.TrainingJob) {
	for _, condition := range []string{v1alpha1.ConditionRunning, v1alpha1.ConditionSuspended, v1alpha1.ConditionSucceeded, v1alpha1.ConditionFailed, v1alpha1.ConditionStalled} {
		if !is(before, condition) && is(after, condition) {
			h.happened[condition]++
		}
	}
	if is(before, v1alpha1.ConditionSuspended) && !is(after, v1alpha1.ConditionSuspended) {
		h.happened[v1alpha1.EventResumed]++
		h.resumes++
		clear(h.rendezvous) // a suspended job can be changed
		clear(h.ranks)
	}
	h.noteAsked(before.Status.CheckpointRequest, after.Status.CheckpointRequest)
	if c := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionScheduled); c != nil && slices.Contains(waits, c.Reason) {
		if b := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionScheduled); b == nil || b.Reason != c.Reason {
			h.happened[c.Reason]++
		}
	}
	h.noteRecovery(&before.Status, &after.Status)
	for role, status := range after.Status.Memory.Roles {
		if status.GivenUp != "" && status.GivenUp != before.Status.Memory.Roles[role].GivenUp {
			h.happened[v1alpha1.EventReplicaGivenUp] += 1 + strings.Count(status.GivenUp, ",")
		}
	}
}

// noteAvoided counts the nodes that are avoided from now on: for the first time, or again after a while.
func (h *history) noteAvoided(was, now *v1alpha1.TrainingJobStatus, at time.Time) {
	for _, n := range now.AvoidedNodes {
		isOld := func(o v1alpha1.AvoidedNode) bool { return o.Name == n.Name && at.Before(o.ExpirationTime.Time) }
		if !slices.ContainsFunc(was.AvoidedNodes, isOld) {
			h.happened[v1alpha1.EventNodeAvoided]++
		}
	}
}

// noteRecovery counts what Events of the recovery may tell of.
func (h *history) noteRecovery(was, now *v1alpha1.TrainingJobStatus) {
	switch {
	case was.Attempt != now.Attempt:
		h.happened[v1alpha1.EventRestarting]++
	case was.Restarts != now.Restarts || ledger.Joined(was, now) > 0:
		h.happened[v1alpha1.EventReplicaRestarting]++
	}
	if meta.IsStatusConditionFalse(now.Conditions, v1alpha1.ConditionProgressing) && !meta.IsStatusConditionFalse(was.Conditions, v1alpha1.ConditionProgressing) {
		h.happened[v1alpha1.ReasonProgressStalled]++
		h.happened[v1alpha1.ReasonProgressUnread]++
	}
}

// said are the Events of one pass.
type said struct {
	pass *operator.Decision
	all  map[string]bool
}

// isNew reports whether the pass has not emitted the Event yet.
func (s *said) isNew(pass *operator.Decision, event string) bool {
	if s.pass != pass {
		s.pass, s.all = pass, map[string]bool{}
	}
	isNew := !s.all[event]
	s.all[event] = true
	return isNew
}

// untold are the reasons of Events that tell of no transition of the status.
var untold = []string{v1alpha1.EventEnvConflict, v1alpha1.EventDeletionRefused}

// Event is called with each Event: 20, at most one for each transition, and after it.
func (c *Checker) Event(d *operator.Decision, reason, note string) {
	if len(note) > 1024 {
		c.violate("20 bounded: an Event of %d bytes", len(note))
	}
	if slices.Contains(untold, reason) {
		return
	}
	h := c.of(d.UID())
	if !c.saidNow.isNew(d, reason+" "+note) {
		c.violate("20 bounded: Event %s (%s) is emitted twice in one pass", reason, note)
	}
	if h.told[reason]++; h.told[reason] > h.happened[reason] {
		c.violate("20 bounded: Event %s (%s) is emitted for the %dth time, it has happened %d times", reason, note, h.told[reason], h.happened[reason])
	}
}
