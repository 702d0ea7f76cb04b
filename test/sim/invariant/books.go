package invariant

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// books are the charges of a job as its statuses reported them, at the world's own time. A status keeps ten incidents, and the product counts by
// status.memory, which these checks do not read.
type books struct {
	// charges are by the number of the restart.
	charges map[int32]charge
	// stuck are the numbers of the charged restarts of the whole job since the last newer step. What is given back does not count.
	stuck map[int32]bool
	// step is the greatest step that a status has shown.
	step int64
}

// charge is one restart that counts against a budget.
type charge struct {
	budget v1alpha1.BudgetName
	at     time.Time
}

// note writes down what the incidents of a status cost. Late evidence may move a charge to another budget, or give it back.
func (b *books) note(before, after *v1alpha1.TrainingJob, now time.Time) {
	was, is := &before.Status, &after.Status
	b.noteStep(is.Progress)
	for i := range is.Incidents {
		incident, number := &is.Incidents[i], is.Restarts-int32(i)
		old, isOld := b.charges[number]
		name := budgetOf(&before.Spec, incident)
		if !isOld {
			old.at = now
			b.stuck[number] = number > was.Restarts
		}
		b.stuck[number] = b.stuck[number] && incident.Charged && incident.Scope == v1alpha1.ScopeJob
		b.charges[number] = charge{name, old.at}
	}
}

// noteStep notes how far the training is. A newer step begins a new row.
func (b *books) noteStep(p *v1alpha1.ProgressStatus) {
	if p != nil && p.Step > b.step {
		b.step, b.stuck = p.Step, map[int32]bool{}
	}
}

// made returns how many restarts the budget was charged within that time before now. One that the status has outgrown may have been given back.
func (b *books) made(name v1alpha1.BudgetName, window time.Duration, now time.Time) int {
	n := 0
	for _, charge := range b.charges {
		if charge.budget == name && now.Sub(charge.at) <= window {
			n++
		}
	}
	return n
}

// budgetOf returns what pays for an incident by docs/recovery.md: "" if it is free.
func budgetOf(spec *v1alpha1.TrainingJobSpec, i *v1alpha1.Incident) v1alpha1.BudgetName {
	rule, isKnown := ruleFor(spec, &i.Failure)
	isLoss := i.Cause == v1alpha1.CauseInfrastructure || i.Cause == v1alpha1.CausePreempted
	switch {
	case i.Cause == v1alpha1.CauseRequested || i.Cause == v1alpha1.CauseCompleted:
		return ""
	case isLoss && (!isKnown || rule != nil && rule.Cause == i.Cause):
		return v1alpha1.BudgetRuleMadeLosses
	case isLoss:
		return ""
	case isApart(spec, i.Role):
		return v1alpha1.BudgetEvaluatorRestarts
	case !i.Charged:
		return ""
	case i.Cause == v1alpha1.CauseOOM:
		return v1alpha1.BudgetOOMRestarts
	case i.Cause == v1alpha1.CauseHang:
		return v1alpha1.BudgetHangRestarts
	default:
		return v1alpha1.BudgetRestarts
	}
}

// limitOf returns how many restarts the budget pays for. The jobs of the simulation are too small for another default of maxRestarts.
func limitOf(spec *v1alpha1.TrainingJobSpec, name v1alpha1.BudgetName) int {
	switch recovery := &spec.Recovery; name {
	case v1alpha1.BudgetOOMRestarts:
		return int(*recovery.MaxOOMRestarts)
	case v1alpha1.BudgetHangRestarts:
		return int(*recovery.MaxHangRestarts)
	case v1alpha1.BudgetRuleMadeLosses:
		return 100
	default:
		return int(ptr.Deref(recovery.MaxRestarts, 10))
	}
}

// checkPrice checks invariant 23: the budget of a failure is used up by as many charged restarts as its limit, made before, within the window.
func (c *Checker) checkPrice(h *history, before *v1alpha1.TrainingJob, f *v1alpha1.Failure) {
	name := budgetOf(&before.Spec, &v1alpha1.Incident{Failure: *f, Charged: true})
	window := time.Duration(*before.Spec.Recovery.WindowSeconds+1) * time.Second // times of the status have no parts of seconds
	limit, made := limitOf(&before.Spec, name), h.books.made(name, window, c.decided())-c.explainedBy(h, before, f, name)
	if name == "" || made < limit {
		c.violate("23 a verdict needs its price: the failure of %s (%s) counts as one too many for %q (%d), after %d charged restarts", f.Pod, f.Cause, name, limit, made)
	}
}

// explainedBy returns how many charges the failure gives back. If it restarts the whole job, replicas that restarted alone within 10 s before it are no
// longer charged.
func (c *Checker) explainedBy(h *history, before *v1alpha1.TrainingJob, f *v1alpha1.Failure, name v1alpha1.BudgetName) int {
	n := 0
	for i := range before.Status.Incidents {
		o := &before.Status.Incidents[i]
		after := f.Time.Sub(o.Time.Time)
		isAlone := o.Scope == v1alpha1.ScopeReplica && o.Charged && !o.Explained && o.Pod != f.Pod && after >= 0 && after < 10*time.Second
		n += one(isAlone && len(c.world.Skew) == 0 && h.books.charges[before.Status.Restarts-int32(i)].budget == name)
	}
	if scopeOf(&before.Spec, state.Slot{Role: f.Role, Index: int(f.Index)}) != v1alpha1.ScopeJob || len(before.Spec.Recovery.Rules) > 0 {
		return 0
	}
	return n
}

// checkStuck checks the same of noProgressLimit: as many charged restarts of the whole job in a row, and no status has shown a newer step since.
func (c *Checker) checkStuck(h *history, before, after *v1alpha1.TrainingJob) {
	limit := int(*before.Spec.Recovery.NoProgressLimit)
	h.books.noteStep(after.Status.Progress)
	stuck := 0
	for _, counts := range h.books.stuck {
		stuck += one(counts)
	}
	f, most := after.Status.LastFailure, int(*before.Spec.Recovery.SameCrashLimit)
	same := sameCrashes(&before.Status, f)
	isStuck, isRepeated := before.Spec.Progress != nil && limit > 0 && h.books.step > 0 && stuck >= limit, most > 0 && same >= most
	if !isStuck && !isRepeated {
		c.violate("23 a verdict needs its price: the job failed without progress after %d restarts since step %d, and the limit is %d; %d of %d were for the same crash", stuck, h.books.step, limit, same, most)
	}
	isBlamed := func(n v1alpha1.AvoidedNode) bool {
		return n.Reason == "Error" && n.Failures <= int32(same) && n.Name == f.Node
	}
	if isRepeated && slices.ContainsFunc(after.Status.AvoidedNodes, isBlamed) {
		c.violate("22 blame is true: the job failed by a crash that it repeats, and avoids %s for it", f.Node)
	}
}

// sameCrashes returns how many of the latest incidents in a row that restarted the replica were charged for an exit like this one: the same code and
// first line, which has an error.
func sameCrashes(status *v1alpha1.TrainingJobStatus, f *v1alpha1.Failure) (n int) {
	for i := range status.Incidents {
		o := &status.Incidents[i]
		isSlot := o.Role == f.Role && o.Index == f.Index
		switch isOther := o.Scope != v1alpha1.ScopeJob && (o.Role != f.Role || o.Scope == v1alpha1.ScopeReplica && !isSlot); {
		case isOther:
		case !o.Charged || crashOf(f) == "" || crashOf(f) != crashOf(&o.Failure):
			return n
		default:
			n++
		}
	}
	return n
}

// crashOf returns the exit code and first line of an exit with an error; empty for other ends.
func crashOf(f *v1alpha1.Failure) string {
	line, _, _ := strings.Cut(f.Message, "\n")
	if f.Cause != v1alpha1.CauseRetryable || f.ExitCode == nil || *f.ExitCode >= 128 || !strings.Contains(line, "Error: ") {
		return ""
	}
	return fmt.Sprint(*f.ExitCode, line)
}

// checkRepeated checks that no restart follows one too many for the same crash, with less than ten minutes between two: sameCrashLimit fails the job then.
// A suspension or a step begins a new row, and words of a lost peer or of failed input or output are none of the replica's own.
func (c *Checker) checkRepeated(h *history, before, after *v1alpha1.TrainingJob) {
	limit := int(*before.Spec.Recovery.SameCrashLimit)
	if after.Status.Restarts != before.Status.Restarts+1 || limit == 0 || h.books.step > 0 {
		return
	}
	f, list := &after.Status.Incidents[0], before.Status.Incidents
	same, words := sameCrashes(&before.Status, &f.Failure), strings.ToLower(f.Message)
	isOwn := f.Charged && !slices.ContainsFunc([]string{"connect", "timed out", "peer", "pipe", "eof"}, func(word string) bool { return strings.Contains(words, word) })
	if same < limit || !isOwn || h.resumes > 0 || len(before.Spec.Recovery.Rules) > 0 {
		return
	}
	if f.RestartTime.Sub(list[same-1].RestartTime.Time) < 10*time.Minute {
		c.violate("23 a crash that repeats ends the job: %s restarts after %d restarts for the same crash (%q), and the limit is %d", f.Pod, same, f.Message, limit)
	}
}

// checkGivenUp checks the same of replicas that the job does not need: one stays failed after a permanent exit, or when their budget is used up.
func (c *Checker) checkGivenUp(h *history, before, after *v1alpha1.TrainingJob) {
	old, limit := memoryOf(before), limitOf(&before.Spec, v1alpha1.BudgetEvaluatorRestarts)
	window := time.Duration(*before.Spec.Recovery.WindowSeconds+1) * time.Second
	for role, m := range memoryOf(after) {
		for i := range h.widest {
			slot := state.Slot{Role: role, Index: i}
			if !m.GivenUp.Has(i) || old[role].GivenUp.Has(i) || len(before.Spec.Recovery.Rules) > 0 {
				continue // a rule may call any exit permanent
			}
			truly, made := c.causeOf(h, place{slot, lifeIn(before, old, slot)}, before), h.books.made(v1alpha1.BudgetEvaluatorRestarts, window, c.decided())
			if !truly.fatal && (!truly.exit || made < limit) {
				c.violate("23 a verdict needs its price: %s is given up after %d restarts of %d, permanent exit: %t", slot, made, limit, truly.fatal)
			}
		}
	}
}

// decided returns when the write that is checked was decided, which can be slow to arrive.
func (c *Checker) decided() time.Time {
	if c.writer == nil {
		return c.world.Clock.Now()
	}
	return c.writer.At
}
