package failure

import (
	"cmp"
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// togetherFor is how long after an incident the end of another replica may show as part of it: peers end within 5 s, and busy kubelets report
// later.
const togetherFor = 5*time.Second + reportedWithin

// join makes one incident of the ends of replicas that restart without the whole job. Replicas share a file server, a network, a data set and
// parameter servers, and the agents of torchrun end together. One fault must not use up a budget that is meant for one fault after another.
//
//	worker-3 ends   the operator sees it: incident, charged      10 s later
//	      |------------------|----------------------------------------|
//	         worker-5 ends too      worker-0 ends, whose life began
//	         and is seen with it    before the incident: both are part of it, not charged
//
// Where a replica ends whose end restarts the whole job, that restart is the incident, and what was charged before is given back (causedBy).
// Ends that the operator sees at once are one incident, because an incident that no restart preceded cannot exceed a limit of restarts. Losses
// stay apart, because each can show another broken node.
func join(s *state.Snapshot, apart []Restart) {
	for n := range apart {
		restart := &apart[n]
		first := slices.IndexFunc(apart[:n], func(before Restart) bool { return before.Joins == nil && isOneIncident(s, &before, restart) })
		if first < 0 { // a loss can show later than what followed it
			first = slices.IndexFunc(apart, func(loss Restart) bool {
				return missedIt(s, &loss, restart) && explainsFailure(s, &loss.Failure, restart.Time.Time)
			})
		}
		if restart.Joins = Ongoing(s, restart); restart.Joins == nil && first >= 0 {
			restart.Joins = &apart[first].Incident
		}
	}
	for n := range apart {
		restart := &apart[n]
		restart.Charged = restart.Charged && restart.Joins == nil
		if Joined(apart, &restart.Incident) > 0 {
			restart.Alike = alike(apart, &restart.Failure)
		}
	}
}

// isOneIncident reports whether an end can be of the incident that began before it: both are charged to the job, both to roles that it does not
// need, or only a rule makes both a loss. Each of these kinds has budgets of its own. A rank that exits after a peer was lost missed it.
func isOneIncident(s *state.Snapshot, first, end *Restart) bool {
	isApart := IsApart(&s.Job.Spec, first.Role)
	costs := func(i *Restart) bool { return i.Charged || isApart && IsFailure(i.Cause) && !IsLoss(i.Cause) }
	return isApart == IsApart(&s.Job.Spec, end.Role) && (costs(first) && costs(end) || first.RuleMade && end.RuleMade || missedIt(s, first, end))
}

// missedIt reports whether a charged end is the end of a peer of the lost replica.
func missedIt(s *state.Snapshot, loss, end *Restart) bool {
	return IsLoss(loss.Cause) && end.Charged && arePeers(s, loss.Role, end.Role)
}

// arePeers reports whether replicas of the roles are ranks of one collective, and need each other.
func arePeers(s *state.Snapshot, a, b v1alpha1.Role) bool {
	return state.IsMember(&s.Job.Spec, a) && state.IsMember(&s.Job.Spec, b)
}

// Ongoing returns the incident of the last few seconds that contains the end; nil if the status has none.
func Ongoing(s *state.Snapshot, restart *Restart) *v1alpha1.Incident {
	for n := range s.Job.Status.Incidents {
		if known := &s.Job.Status.Incidents[n]; isPart(s, restart, known) {
			return known
		}
	}
	return nil
}

// isPart reports whether the end is within seconds of a known incident of replicas, in a life that began before it. The operator may see it
// later, and clocks of nodes may differ: it came in time by either.
func isPart(s *state.Snapshot, end *Restart, known *v1alpha1.Incident) bool {
	isRecent := cmp.Or(SeenAt(s, &end.Failure), s.Now).Sub(known.RestartTime.Time) <= togetherFor || end.Time.Sub(known.Time.Time).Abs() <= togetherFor
	isPresent := known.Attempt == s.Job.Status.Attempt && known.Scope != v1alpha1.ScopeJob
	beganBefore := s.NextStart(SlotOf(&end.Failure)).Before(known.RestartTime.Time)
	return isRecent && isPresent && beganBefore && isOneIncident(s, &Restart{Incident: *known}, end)
}

// Begun returns the restarts that begin an incident. The others join one.
func Begun(restarts []Restart) []Restart {
	return slices.DeleteFunc(slices.Clone(restarts), func(restart Restart) bool { return restart.Joins != nil })
}

// Joined returns how many replicas restart as part of the incident, which another replica began.
func Joined(restarts []Restart, incident *v1alpha1.Incident) int32 {
	var n int32
	for i := range restarts {
		if restarts[i].Joins == incident {
			n += 1 + restarts[i].Followers
		}
	}
	return n
}
