package budget

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Of returns the budget that the restart counts against; empty for none.
func Of(spec *v1alpha1.TrainingJobSpec, restart *failure.Restart) v1alpha1.BudgetName {
	switch isApart := failure.IsApart(spec, restart.Role); {
	case !failure.IsFailure(restart.Cause), restart.Joins != nil:
		return ""
	case restart.Charged:
		return budgetOfCause(restart.Cause)
	case restart.RuleMade && !isApart:
		return v1alpha1.BudgetRuleMadeLosses
	case isApart && !failure.IsLoss(restart.Cause):
		return v1alpha1.BudgetEvaluatorRestarts
	default:
		return ""
	}
}

// Describe names a used-up budget by the field that its user writes.
func Describe(name v1alpha1.BudgetName, limit int32) string {
	if name == v1alpha1.BudgetRuleMadeLosses {
		return fmt.Sprintf("the budget %s (%d within recovery.windowSeconds, for losses that only recovery.rules call so)", name, limit)
	}
	return fmt.Sprintf("recovery.%s (%d)", name, limit)
}

func budgetOfCause(cause v1alpha1.Cause) v1alpha1.BudgetName {
	switch cause {
	case v1alpha1.CauseOOM:
		return v1alpha1.BudgetOOMRestarts
	case v1alpha1.CauseHang:
		return v1alpha1.BudgetHangRestarts
	default:
		return v1alpha1.BudgetRestarts
	}
}

// Limit returns how many restarts may be charged to a budget within the window.
func Limit(spec *v1alpha1.TrainingJobSpec, name v1alpha1.BudgetName) int32 {
	recovery := &spec.Recovery
	switch name {
	case v1alpha1.BudgetOOMRestarts:
		return ptr.Deref(recovery.MaxOOMRestarts, v1alpha1.DefaultMaxOOMRestarts)
	case v1alpha1.BudgetHangRestarts:
		return ptr.Deref(recovery.MaxHangRestarts, v1alpha1.DefaultMaxHangRestarts)
	case v1alpha1.BudgetRuleMadeLosses:
		return v1alpha1.MaxRuleMadeLosses
	default:
		alone := restartedAlone(spec, name == v1alpha1.BudgetEvaluatorRestarts)
		return ptr.Deref(recovery.MaxRestarts, max(v1alpha1.DefaultMaxRestarts, alone/replicasPerRestart))
	}
}

// replicasPerRestart is how many replicas that are restarted alone add one restart to the default budget.
const replicasPerRestart = 10

// restartedAlone returns how many replicas of the job are restarted without others: of the roles that the training needs, or of the other ones.
func restartedAlone(spec *v1alpha1.TrainingJobSpec, apart bool) int32 {
	var n int32
	for role, scope := range failure.Scopes(spec) {
		if scope == v1alpha1.ScopeReplica && failure.IsApart(spec, role) == apart {
			n += spec.Replicas(role)
		}
	}
	return n
}

// Used returns the times of the restarts that count against a budget now, oldest first.
func Used(job *v1alpha1.TrainingJob, name v1alpha1.BudgetName, now time.Time) []metav1.Time {
	for _, c := range job.Status.Memory.Charges {
		if c.Name == name {
			return slices.DeleteFunc(slices.Clone(c.Times), func(t metav1.Time) bool { return now.Sub(t.Time) >= window(job) })
		}
	}
	return nil
}

func window(job *v1alpha1.TrainingJob) time.Duration {
	return time.Duration(ptr.Deref(job.Spec.Recovery.WindowSeconds, v1alpha1.DefaultWindowSeconds)) * time.Second
}

// NextEnd returns when the window of the oldest charge ends; zero if none counts.
func NextEnd(s *state.Snapshot) time.Time {
	var next time.Time
	for _, name := range v1alpha1.BudgetNames {
		if used := Used(s.Job, name, s.Now); len(used) > 0 {
			next = state.Earliest(next, used[0].Add(window(s.Job)))
		}
	}
	return next
}

// Number returns which restart within its budget it is, without those that it explains; 0 if no budget counts it.
func Number(s *state.Snapshot, restart *failure.Restart) (n int32) {
	if begun := []failure.Restart{*restart}; Of(&s.Job.Spec, restart) != "" {
		charges := Charge(s, failure.Explain(s, begun), begun)
		at := slices.IndexFunc(charges, func(c v1alpha1.Charges) bool { return c.Name == Of(&s.Job.Spec, restart) })
		n = int32(len(charges[at].Times))
	}
	return n
}

// Charge returns the charges of all budgets: the amendments refund charges or move them to another budget, and the restarts add theirs.
func Charge(s *state.Snapshot, amendments []failure.Amendment, restarts []failure.Restart) []v1alpha1.Charges {
	var charges []v1alpha1.Charges
	for _, name := range v1alpha1.BudgetNames {
		times := Used(s.Job, name, s.Now)
		for _, a := range amendments {
			at := slices.IndexFunc(times, func(t metav1.Time) bool { return t.Equal(&a.Was.RestartTime) })
			if a.Was.Charged && budgetOfCause(a.Was.Cause) == name && at >= 0 {
				times = slices.Delete(times, at, at+1)
			}
			if Of(&s.Job.Spec, &failure.Restart{Incident: a.Is, RuleMade: a.RuleMade}) == name {
				times = append(times, a.Is.RestartTime)
			}
		}
		for i := range restarts {
			if Of(&s.Job.Spec, &restarts[i]) == name {
				times = append(times, metav1.NewTime(s.Now.Truncate(time.Second)))
			}
		}
		if len(times) > 0 {
			slices.SortFunc(times, func(a, b metav1.Time) int { return a.Compare(b.Time) })
			charges = append(charges, v1alpha1.Charges{Name: name, Times: times})
		}
	}
	return charges
}

// Budgets returns how much of each budget the charges use up.
func Budgets(s *state.Snapshot, charges []v1alpha1.Charges) []v1alpha1.Budget {
	var list []v1alpha1.Budget
	for _, c := range charges {
		list = append(list, v1alpha1.Budget{Name: c.Name, Used: int32(len(c.Times)), Limit: Limit(&s.Job.Spec, c.Name)})
	}
	return list
}
