package plan

import (
	"maps"
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// promote has replicas that the incident restarts alone, or anew while others go on in place, begin their lives in warm spares, as far as
// there are any. Where all pods are created anew a spare gains nothing: the others take as long.
func promote(s *state.Snapshot, memory state.Memory, v *policy.Verdict, i *policy.Incident) {
	switch {
	case len(s.Spares) == 0:
	case i.Scope == v1alpha1.ScopeReplica:
		promoteSlot(s, memory, v, state.Slot{Role: i.Role, Index: int(i.Index)})
	case i.Scope == v1alpha1.ScopeJob && restartsAnyInPlace(s):
		for r := range s.Replicas() {
			if r.Pod == nil || !canRestart(s, r.Pod) {
				promoteSlot(s, memory, v, r.Slot)
			}
		}
	}
}

// promoteSlot has the slot begin its present life in a warm spare, if one waits. Who is found by name needs a pod of that name, and a pod that
// runs cannot join a native gang.
func promoteSlot(s *state.Snapshot, memory state.Memory, v *policy.Verdict, slot state.Slot) {
	m := memory[slot.Role]
	needsPod := !m.Succeeded.Has(slot.Index) && !m.GivenUp.Has(slot.Index) && !m.Parked.Has(slot.Index)
	if !needsPod || state.IsNamed(&s.Job.Spec, slot) || s.Gang.Scheduler == v1alpha1.GangNative {
		return
	}
	for _, p := range sparesOf(s, slot.Role) {
		if waitsWell(s, v, &p) && !isPromoted(m, p.Name) && !s.Withdrawn[p.Name] {
			m.Promote(slot.Index, p.Name)
			return
		}
	}
}

// waitsWell reports whether the spare can become a replica at once, on a node that is well and that the job does not avoid.
func waitsWell(s *state.Snapshot, v *policy.Verdict, p *state.Pod) bool {
	_, inTrouble := s.NodeTrouble(p)
	_, isToLeave := s.IsToLeave(p)
	avoided := slices.ContainsFunc(v.Accounts.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return n.Name == p.Node && s.Now.Before(n.Until.Time) })
	return p.Waits && p.CanRun() && p.Deleted.IsZero() && p.Disruption.Reason == "" && !inTrouble && !isToLeave && !avoided
}

func isPromoted(m *state.RoleMemory, spare string) bool {
	return slices.Contains(slices.Collect(maps.Values(m.Promoted)), spare)
}

// withdraw gives those their next life whose spare can become no replica any more: they begin it in a pod of their own. Nothing has broken.
func withdraw(s *state.Snapshot, memory state.Memory) {
	if len(s.Withdrawn) == 0 {
		return
	}
	for r := range s.Replicas() {
		m := memory[r.Slot.Role]
		if name := m.Promoted[r.Slot.Index]; r.Condition == state.Missing && s.Withdrawn[name] {
			m.Replace(r.Slot.Index)
		}
	}
}
