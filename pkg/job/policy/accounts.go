package policy

import (
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
)

// nextAccounts returns the accounts after the ruling: with the incidents that begin now, and with corrections of earlier ones.
// The amendments come first, because the avoid list is made from the incidents. Of a role's completions the latest stay: a program that completes
// every few seconds must not displace what late evidence may explain.
func nextAccounts(s *state.Snapshot, ruling *Ruling, amendments []failure.Amendment) Accounts {
	was, charges, begun := &s.Job.Status, budget.Charge(s, amendments, ruling.Restarts), failure.Begun(ruling.Restarts)
	a := Accounts{
		LastFailure: was.LastFailure, Incidents: slices.Clone(was.Incidents),
		Charges: charges, ChargedRestarts: was.ChargedRestarts, Budgets: budget.Budgets(s, charges), Until: budget.NextEnd(s),
		NodeFailures: was.Memory.NodeFailures, AvoidedNodes: slices.Clone(was.AvoidedNodes), RestartsWithoutProgress: restartsWithoutProgress(s),
	}
	if joinsOnly := len(ruling.Restarts) > len(begun) && len(begun) == 0; ruling.Failure != nil && failure.IsFailure(ruling.Failure.Cause) && !joinsOnly {
		a.LastFailure = ruling.Failure
	}
	if ruling.Reason != v1alpha1.ReasonNoProgress && len(amendments) == 0 && len(ruling.Restarts) == 0 {
		return a
	}
	for i := range a.Incidents {
		a.Incidents[i].Followers += failure.Joined(ruling.Restarts, &was.Incidents[i])
	}
	for i := range amendments {
		a.amend(s, &amendments[i])
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
	blamed, takenBack := acquitted(a.Incidents, ruling)
	a.NodeFailures, a.AvoidedNodes = nodes.Blamed(s, blamed, append(takenBack, amendments...))
	return a
}

// acquitted returns the incidents for which nodes may be blamed, and of the other ones that the blame is taken back: no node causes the crash that fails
// the job as one too many of its kind.
func acquitted(incidents []v1alpha1.Incident, ruling *Ruling) (blamed []v1alpha1.Incident, takenBack []failure.Amendment) {
	for i := range incidents {
		if ruling.Reason == v1alpha1.ReasonNoProgress && failure.IsSameCrash(&incidents[i].Failure, ruling.Failure) {
			takenBack = append(takenBack, failure.Amendment{Was: incidents[i]})
		} else {
			blamed = append(blamed, incidents[i])
		}
	}
	return blamed, takenBack
}

func (a *Accounts) amend(s *state.Snapshot, amendment *failure.Amendment) {
	was, is := &amendment.Was, &amendment.Is
	for i := range a.Incidents {
		if known := &a.Incidents[i]; known.Pod == was.Pod && known.RestartTime.Equal(&was.RestartTime) {
			had := known.Followers
			*known = *is
			known.Followers = had
		}
	}
	a.ChargedRestarts = max(0, a.ChargedRestarts+one(is.Charged)-one(was.Charged))
	a.RestartsWithoutProgress = max(0, a.RestartsWithoutProgress+one(countsAsStuck(s, is))-one(countsAsStuck(s, was)))
	if f := a.LastFailure; f != nil && f.Pod == was.Pod && f.Attempt == was.Attempt && f.Replacement == was.Replacement { // a pod that restarts in place has several lives
		a.LastFailure = &is.Failure
	}
}

func one(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}
