package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
)

// inPlace holds the steps for the pods that restart in place.
type inPlace struct {
	steps []Step
	// kept are the pods of earlier attempts that restart in place now or soon, and so are not deleted.
	kept map[types.UID]bool
	// wake is when more steps follow without another event; zero for never.
	wake time.Time
}

// restartInPlace restarts the healthy pods in the present attempt, and gives up the pods that do not restart.
//
// If each attempt has its own port, all pods restart at once: otherwise the ranks would break when the leader ends, and get new
// pods for it. With one port, a living leader restarts first and the others follow when its new process runs, so that none of
// them finds the old store. A leader that must be recreated comes last, like all new pods: the fence lets no pod begin while an
// old process can act.
func restartInPlace(s *state.Snapshot) inPlace {
	plan := inPlace{kept: map[types.UID]bool{}}
	var able []*state.Pod
	keeps := policy.KeepsPods(s)
	for i := range s.Pods {
		p := &s.Pods[i]
		switch {
		case keeps && s.IsPast(p) && policy.CanRestart(s, p, s.Job.Status.Incidents) && isAlone(s, p.Slot):
			plan.kept[p.UID] = true
			if next := state.Latest(s.NextAttempt(), s.NextStart(p.Slot)); s.Now.Before(next) {
				plan.wake = state.Earliest(plan.wake, next)
			} else {
				able = append(able, p)
			}
		case p.Restarting && !s.IsPast(p):
			plan.giveUp(s, p)
		}
	}
	for _, p := range restartNow(s, able) {
		plan.steps = append(plan.steps, RestartPod{
			Name: p.Name, UID: p.UID, Version: p.Version, Container: p.Main, Image: state.ImageFor(p.Image, s.Life(p.Slot)),
			Port: build.LeaderPort(s.Job, s.Life(p.Slot).Attempt), Number: build.LifeNumber(s.Job),
			OpensGate: p.Gated, Told: state.Told{Life: s.Life(p.Slot), From: p.Life, Process: p.Process, Before: p.Before, Ended: seenOver(p), Time: s.Now.Truncate(time.Second)},
		})
	}
	return plan
}

// seenOver returns the second in which the operator saw that the process of the pod had ended; zero if it runs.
func seenOver(p *state.Pod) time.Time {
	if !p.Waits {
		return time.Time{}
	}
	return p.EndSeen.Truncate(time.Second)
}

func restartNow(s *state.Snapshot, able []*state.Pod) []*state.Pod {
	if state.MovesPort(&s.Job.Spec) {
		return able
	}
	leader := state.Leader(&s.Job.Spec)
	if i := slices.IndexFunc(able, func(p *state.Pod) bool { return p.Slot == leader }); i >= 0 {
		return able[i : i+1]
	}
	if r := s.Replica(leader); r != nil && (r.FormerCanAct || r.Pod != nil && r.Pod.Restarting && s.MayAct(r.Pod)) {
		return nil
	}
	return able
}

func (plan *inPlace) giveUp(s *state.Snapshot, p *state.Pod) {
	switch {
	case !p.Deleted.IsZero():
	case s.Now.Before(s.RestartsBy(p)):
		plan.wake = state.Earliest(plan.wake, s.RestartsBy(p))
	default:
		plan.steps = append(plan.steps, DeletePod{Name: p.Name, UID: p.UID, Version: p.Version, Why: WhyNotRestarted})
	}
}

// isAlone reports whether exactly one pod of the slot can act. A second one may have come back with its lost node.
func isAlone(s *state.Snapshot, slot state.Slot) bool {
	able := slices.DeleteFunc(slices.Clone(s.PodsOf(slot)), func(p state.Pod) bool { return !s.MayAct(&p) })
	return len(able) == 1
}

// restartsAnyInPlace reports whether a pod continues after the incident, which ends its attempt. Pods that must share a domain
// continue together or not at all: the pods that stay would hold their domain, and the others may fit only in another one.
func restartsAnyInPlace(s *state.Snapshot, incident *v1alpha1.Incident) bool {
	incidents := slices.Insert(slices.Clone(s.Job.Status.Incidents), 0, *incident)
	continues := func(p state.Pod) bool { return policy.CanRestart(s, &p, incidents) }
	spec := &s.Job.Spec
	if state.MethodOf(spec) != v1alpha1.RestartInPlace {
		return false
	}
	leaves := func(r *state.Replica) bool {
		return state.InDomain(spec, r.Slot.Role) && (r.Pod == nil || !continues(*r.Pod))
	}
	if state.RequiresDomain(spec) && s.Any(leaves) {
		return false
	}
	return slices.ContainsFunc(s.Pods, continues)
}
