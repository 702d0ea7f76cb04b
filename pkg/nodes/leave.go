package nodes

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// Departures returns the restarts of the replicas that leave unhealthy nodes, and the restarts of the replicas that stay because there are
// too few other nodes. A job does not leave a node again while it avoids it as unhealthy: either no other node was free, or the condition
// comes and goes.
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

// nodesNeeded returns how many nodes a role takes up if each of its replicas without a node gets one of its own.
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

func isKnownIll(s *state.Snapshot, node string) bool {
	known := Avoided(&s.Observed).Of(node)
	return known != nil && known.Reason == v1alpha1.ReasonNodeIll
}

// StayOn adds to the avoided nodes the unhealthy ones that the job would leave if there were others: then the job reports them once, and
// new pods prefer other nodes. A full list stays unchanged, because each such node would push out another one.
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
