package nodes

import (
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Departures returns the restarts by which the replicas on ill nodes leave them, and those of the replicas that stay, as there are too few other nodes. A node that
// the job has left for being ill, or on which it stays, is not left again while the job avoids it: then the job had nowhere else to go, or the condition comes and
// goes.
func Departures(s *state.Snapshot) (leaving, staying []failure.Incident) {
	for r := range s.Replicas() {
		if !r.HasNode() || !r.NeedsPod() || r.IsBroken() || !r.Pod.Deleted.IsZero() || !s.HeedsIllNodes() {
			continue
		}
		node, isToLeave := s.IsToLeave(r.Pod)
		if !isToLeave || isKnownIll(s, node.Name) {
			continue
		}
		f := failure.At(s, r, v1alpha1.CauseInfrastructure, node.Ill.Reason, node.Ill.Message)
		incident := failure.Incident{Incident: v1alpha1.Incident{Failure: f, Scope: failure.ScopeOf(&s.Job.Spec, r.Slot), RestartTime: metav1.NewTime(s.Now.Truncate(time.Second))}}
		if node.Others >= nodesNeeded(s, r.Slot.Role) {
			leaving = append(leaving, incident)
		} else {
			staying = append(staying, incident)
		}
	}
	return leaving, staying
}

// nodesNeeded returns how many nodes a role takes up if each of its replicas that has none yet gets one of its own.
func nodesNeeded(s *state.Snapshot, role v1alpha1.Role) int {
	taken, waiting := map[string]bool{}, 0
	for r := range s.Replicas() {
		switch {
		case r.Slot.Role != role:
		case r.LacksNode():
			waiting++
		case r.NeedsPod():
			taken[r.Pod.Node] = true
		}
	}
	return len(taken) + waiting
}

// isKnownIll reports whether the job avoids the node for being ill.
func isKnownIll(s *state.Snapshot, node string) bool {
	known := Avoided(&s.Observed).Of(node)
	return known != nil && known.Reason == v1alpha1.ReasonNodeIll
}

// StayOn returns the avoided nodes with the ill ones that the job would leave if there were others: so the job reports them once, and
// new pods prefer other nodes. A full list stays as it is, as each such node would push out another one.
func StayOn(s *state.Snapshot, nodes []v1alpha1.AvoidedNode) []v1alpha1.AvoidedNode {
	_, staying := Departures(s)
	for _, incident := range staying {
		kept := At(nodes, s.Now)
		if !kept.Now(incident.Node) && len(kept) < maxAvoided {
			nodes = kept.add(v1alpha1.AvoidedNode{
				Name: incident.Node, Reason: incident.Reason, Failures: 1, ExpirationTime: metav1.NewTime(incident.RestartTime.Add(state.AvoidFor(&s.Job.Spec))),
			}).latest()
		}
	}
	return nodes
}
