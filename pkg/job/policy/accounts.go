package policy

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Accounts is what the status keeps of restarts.
type Accounts struct {
	// LastFailure is the failure behind the latest restart or the job's end; nil if there was none.
	LastFailure *v1alpha1.Failure
	// Incidents are the latest ones, newest first.
	Incidents []v1alpha1.Incident
	// Charges are the restarts charged to each budget, ChargedRestarts how many were in all, Budgets how much is used up.
	Charges         []v1alpha1.Charges
	ChargedRestarts int32
	Budgets         []v1alpha1.Budget
	// Until is when the oldest charge stops to count; zero if none counts, or the job has ended.
	Until time.Time
	// NodeFailures are the failures that count against nodes, AvoidedNodes the nodes that new pods avoid from now on.
	NodeFailures []v1alpha1.NodeFailures
	AvoidedNodes []v1alpha1.AvoidedNode
	// RestartsWithoutProgress is the number of charged restarts of the whole job since the last newer step.
	RestartsWithoutProgress int32
}

func accountsOf(s *state.Snapshot) Accounts {
	was, charges := &s.Job.Status, budget.Charge(s, nil, nil)
	return Accounts{
		LastFailure: was.LastFailure, Incidents: slices.Clone(was.Incidents),
		Charges: charges, ChargedRestarts: was.ChargedRestarts, Budgets: budget.Budgets(s, charges),
		NodeFailures: was.Memory.NodeFailures, AvoidedNodes: slices.Clone(was.AvoidedNodes), RestartsWithoutProgress: restartsWithoutProgress(s),
	}
}

// nextAccounts returns the accounts after the verdict: with the incidents that begin now, and with corrections of earlier ones.
// The amendments come first, because the avoid list is made from the incidents. Of a role's completions the latest stay: a program that completes
// every few seconds must not displace what late evidence may explain.
func nextAccounts(s *state.Snapshot, v *Verdict) Accounts {
	a := accountsOf(s)
	a.Until = budget.NextEnd(s)
	begun := failure.Begun(v.Restarts)
	if joinsOnly := len(v.Restarts) > len(begun) && len(begun) == 0; v.Failure != nil && failure.IsFailure(v.Failure.Cause) && !joinsOnly {
		a.LastFailure = v.Failure
	}
	if len(v.Amendments) == 0 && len(v.Restarts) == 0 {
		return a
	}
	for i := range a.Incidents {
		a.Incidents[i].Followers += failure.Joined(v.Restarts, &s.Job.Status.Incidents[i])
	}
	for i := range v.Amendments {
		a.amend(s, &v.Amendments[i])
	}
	a.Incidents = slices.DeleteFunc(a.Incidents, func(known v1alpha1.Incident) bool {
		return known.Cause == v1alpha1.CauseCompleted && slices.ContainsFunc(begun, func(i failure.Restart) bool { return i.Cause == known.Cause && i.Role == known.Role })
	})
	for i := range begun {
		a.RestartsWithoutProgress += one(countsAsStuck(s, &begun[i].Incident))
		a.ChargedRestarts += one(begun[i].Charged)
		a.Incidents = slices.Insert(a.Incidents, 0, begun[i].Incident)
		a.Incidents = a.Incidents[:min(len(a.Incidents), v1alpha1.MaxIncidents)]
	}
	a.Charges = budget.Charge(s, v.Amendments, v.Restarts)
	a.Budgets = budget.Budgets(s, a.Charges)
	a.NodeFailures, a.AvoidedNodes = nodes.Blamed(s, a.Incidents, v.Amendments)
	return a
}

func (a *Accounts) amend(s *state.Snapshot, amendment *failure.Amendment) {
	was, is := &amendment.Was, &amendment.Is
	for i := range a.Incidents {
		if known := &a.Incidents[i]; known.Pod == was.Pod && known.RestartTime.Equal(&was.RestartTime) {
			followers := known.Followers
			*known = *is
			known.Followers = followers
		}
	}
	a.ChargedRestarts = max(0, a.ChargedRestarts+one(is.Charged)-one(was.Charged))
	a.RestartsWithoutProgress = max(0, a.RestartsWithoutProgress+one(countsAsStuck(s, is))-one(countsAsStuck(s, was)))
	if a.LastFailure != nil && a.LastFailure.Pod == was.Pod {
		a.LastFailure = &is.Failure
	}
}

func one(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}
