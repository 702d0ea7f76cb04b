package policy

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// failed rules because replicas have broken: they restart, or the job fails.
func failed(s *state.Snapshot) (*Ruling, time.Time) {
	if s.IsSuspended() { // the remaining pods are from before the suspension, on lost nodes; the next lives replace them
		return nil, time.Time{}
	}
	if fatal := failure.FatalEvidence(s); fatal != nil {
		return failFatally(s, fatal), time.Time{}
	}
	restartable := slices.DeleteFunc(failure.Find(s), func(restart failure.Restart) bool { return isGivenUp(s, &restart) })
	restarts := failure.Restarts(s, restartable)
	if len(restarts) == 0 {
		return nil, time.Time{}
	}
	ruling := rulingOn(s, restarts)
	for _, hold := range holds {
		if held, until := hold(s, ruling); held != nil {
			return held, until
		}
	}
	return ruling, time.Time{}
}

// givenUp returns the failures that the job accepts from now on: their replicas are not restarted, and do not restart with others.
func givenUp(s *state.Snapshot, restarts []failure.Restart) []failure.Restart {
	var left []failure.Restart
	for r := range s.Replicas() {
		runsAgain := slices.ContainsFunc(restarts, func(i failure.Restart) bool { return failure.Covers(&i.Incident, r.Slot) })
		if s.IsSuspended() || !failure.IsApart(&s.Job.Spec, r.Slot.Role) || !r.IsBroken() || runsAgain { // a job that resumes runs all replicas again
			continue
		}
		if restart := failure.RestartOf(s, r); isGivenUp(s, &restart) {
			restart.Sentence = failure.WithMessage(&restart.Failure, failure.Describe(&restart.Failure)+" and is not restarted; the job continues.")
			left = append(left, restart)
		}
	}
	return left
}

// isGivenUp reports whether the replica stays failed: the training does not need its role, and the failure is fatal, or it begins an incident
// beyond the budget of such roles. A user's rule that fails the job for it comes first.
func isGivenUp(s *state.Snapshot, restart *failure.Restart) bool {
	switch {
	case !failure.IsApart(&s.Job.Spec, restart.Role) || !failure.IsFailure(restart.Cause) || restart.FailedBy != nil:
		return false
	case failure.IsFatal(*restart):
		return true
	case failure.Ongoing(s, restart) != nil, failure.IsLoss(restart.Cause):
		return false
	default:
		return int32(len(budget.Used(s.Job, v1alpha1.BudgetEvaluatorRestarts, s.Now))) >= budget.Limit(&s.Job.Spec, v1alpha1.BudgetEvaluatorRestarts)
	}
}
