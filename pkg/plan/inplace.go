package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/framework"
	"github.com/trainingjob/operator/pkg/nodes"
	"github.com/trainingjob/operator/pkg/state"
)

// inPlace is what is done about pods whose replicas can go on in them.
type inPlace struct {
	steps []Step
	// kept are the pods of past attempts that are not deleted, as they are restarted in place now or in a moment.
	kept map[types.UID]bool
	// wake is when more can be done although nothing else happens; zero for never.
	wake time.Time
}

// restartInPlace starts the present attempt in the healthy pods, and gives up pods that do not restart in time.
//
// Where each attempt has its own port, all restart at once: otherwise the others would fail at the leader's end, and get new pods. In other
// jobs a living leader restarts first, and the others when its new process is there: none of them finds the store of the old attempt. A
// leader that needs a new pod comes last, like all new pods: the fence of the attempt lets none begin while an old process can act.
func restartInPlace(s *state.Snapshot) inPlace {
	plan := inPlace{kept: map[types.UID]bool{}}
	present := state.Life{Attempt: int(s.Job.Status.Attempt)}
	var able []*state.Pod
	keeps := state.KeepsPods(s.Job) && keepsGroup(s)
	for i := range s.Pods {
		p := &s.Pods[i]
		switch {
		case keeps && s.IsPast(p) && s.Life(p.Slot) == present && canRestart(s, p) && isAlone(s, p.Slot):
			plan.kept[p.UID] = true
			able = append(able, p)
		case p.Restarting && !s.IsPast(p):
			plan.giveUp(s, p)
		}
	}
	if len(able) == 0 {
		return plan
	}
	if next := nextAttempt(s); s.Now.Before(next) {
		plan.wake = state.Earliest(plan.wake, next)
		return plan
	}
	for _, p := range toldNow(s, able) {
		plan.steps = append(plan.steps, RestartPod{
			Name: p.Name, UID: p.UID, Version: p.Version, Container: p.Main, Image: state.ImageFor(p.Image, s.Life(p.Slot)),
			Port: framework.LeaderPort(s.Job, s.Life(p.Slot).Attempt), Number: build.LifeNumber(s.Job),
			Told: state.Told{Life: s.Life(p.Slot), From: p.Life, Process: p.Process, Time: s.Now.Truncate(time.Second)},
		})
	}
	return plan
}

// toldNow returns the pods that restart now.
func toldNow(s *state.Snapshot, able []*state.Pod) []*state.Pod {
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

// giveUp deletes the pod if it has not restarted for too long.
func (plan *inPlace) giveUp(s *state.Snapshot, p *state.Pod) {
	switch {
	case !p.Deleted.IsZero():
	case !s.HasNotRestarted(p):
		plan.wake = state.Earliest(plan.wake, s.RestartsBy(p))
	default:
		plan.steps = append(plan.steps, DeletePod{Name: p.Name, UID: p.UID, Version: p.Version, Why: WhyNotRestarted})
	}
}

// keepsGroup reports whether new pods join the group of those that stay. If no pod ran when the restart was decided, or they could not all stay
// in their domain, the attempt has a group of its own, and what has begun to run since is of the one before.
func keepsGroup(s *state.Snapshot) bool {
	return !s.IsGang() && !state.RequiresDomain(&s.Job.Spec) || s.Job.Status.Memory.GroupAttempt != nil
}

// canRestart reports whether the pod can restart in place: the job wants it, its replica continues, the pod is healthy on a healthy node
// that the job does not avoid, and the API server has not refused it.
func canRestart(s *state.Snapshot, p *state.Pod) bool {
	r := s.Replica(p.Slot)
	if p.Image == "" || r == nil || !r.NeedsPod() || !isWell(p) {
		return false
	}
	_, inTrouble := s.NodeTrouble(p)
	_, isToLeave := s.IsToLeave(p)
	return r.State != state.Vanished && !p.Restarting && !p.RestartRefused && !inTrouble && !isToLeave && !nodes.Avoided(&s.Observed).Now(p.Node)
}

// isAlone reports whether one pod of the slot can act, and no other: one on a node that was lost may have come back with it.
func isAlone(s *state.Snapshot, slot state.Slot) bool {
	able := 0
	pods := s.PodsOf(slot)
	for i := range pods {
		if s.MayAct(&pods[i]) {
			able++
		}
	}
	return able == 1
}

// isWell reports whether the pod runs whole and is not being deleted.
func isWell(p *state.Pod) bool {
	runsWhole := p.Phase == corev1.PodRunning && p.Exit == nil && len(p.SideExits) == 0 && !p.MainSucceeded && !p.Fenced
	return runsWhole && p.Deleted.IsZero() && p.Disruption.Reason == "" && p.Unhealthy.Reason == ""
}

// restartsAnyInPlace reports whether a pod of the attempt that ends goes on in the next one. Pods that must be in one domain go on together or
// not at all: those that stay would hold their domain, and the others may fit in none but another.
func restartsAnyInPlace(s *state.Snapshot) bool {
	spec := &s.Job.Spec
	if state.MethodOf(spec) != v1alpha1.RestartInPlace {
		return false
	}
	if state.RequiresDomain(spec) {
		for r := range s.Replicas() {
			if state.InDomain(spec, r.Slot.Role) && (r.Pod == nil || !canRestart(s, r.Pod)) {
				return false
			}
		}
	}
	return slices.ContainsFunc(s.Pods, func(p state.Pod) bool { return canRestart(s, &p) })
}
