package policy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// ill rules because pods of the job are on nodes that they are to leave: sooner or later what runs there breaks, or is stopped. What is
// broken comes first, and new pods stay off the node then as well. It costs no budget, and no rule of recovery.rules is asked about it.
func ill(s *state.Snapshot) (*Verdict, time.Time) {
	if isResting(s) {
		return nil, time.Time{}
	}
	leaving, _ := departures(s)
	incidents := restartsFor(s, leaving)
	if len(incidents) == 0 {
		return nil, time.Time{}
	}
	verdict := restart(s, incidents)
	if held, until := savingFirst(s, &verdict); held != nil {
		return held, until
	}
	return &verdict, time.Time{}
}

// departures returns the restarts by which the replicas on ill nodes leave them, and those of the replicas that stay, as there are too few other nodes. A node that
// the job has left for being ill, or on which it stays, is not left again while the job avoids it: then the job had nowhere else to go, or the condition comes and
// goes.
func departures(s *state.Snapshot) (leaving, staying []Incident) {
	for r := range s.Replicas() {
		if !r.HasNode() || !r.NeedsPod() || r.IsBroken() || !r.Pod.Deleted.IsZero() || !s.HeedsIllNodes() {
			continue
		}
		node, isToLeave := s.IsToLeave(r.Pod)
		if !isToLeave || isKnownIll(s, node.Name) {
			continue
		}
		f := failureAt(s, r, v1alpha1.CauseInfrastructure, node.Ill.Reason, node.Ill.Message)
		i := Incident{Incident: v1alpha1.Incident{Failure: f, Scope: scopeOf(&s.Job.Spec, r.Slot), RestartTime: metav1.NewTime(s.Now.Truncate(time.Second))}}
		if node.Others >= nodesNeeded(s, r.Slot.Role) {
			leaving = append(leaving, i)
		} else {
			staying = append(staying, i)
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
	known := s.Avoided().Of(node)
	return known != nil && known.Reason == v1alpha1.ReasonNodeIll
}

// stayOn returns the avoided nodes with the ill ones that the job would leave if there were others: so the job reports them once, and
// new pods prefer other nodes. A full list stays as it is, as each such node would push out another one.
func stayOn(s *state.Snapshot, nodes []v1alpha1.AvoidedNode) []v1alpha1.AvoidedNode {
	if isResting(s) || isBroken(s) {
		return nodes
	}
	_, staying := departures(s)
	for _, i := range staying {
		kept := avoidList(state.AvoidedAt(nodes, s.Now))
		if !state.Avoided(kept).Now(i.Node) && len(kept) < maxAvoided {
			nodes = kept.add(v1alpha1.AvoidedNode{
				Name: i.Node, Reason: i.Reason, Failures: 1, ExpirationTime: metav1.NewTime(i.RestartTime.Add(state.AvoidFor(&s.Job.Spec))),
			}).latest()
		}
	}
	return nodes
}
