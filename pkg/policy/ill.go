package policy

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

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

// departures returns the restarts by which the replicas on ill nodes leave them, and those of the replicas that stay, as no other node suits them, or too few suit
// the job. A node that the job has left for being ill, or on which it stays, is not left again while the job avoids it: then the job had nowhere else to go, or the
// condition comes and goes.
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
		switch {
		case s.Usable == nil: // nobody knows
		case suffice(s) && s.Usable.ByRole[r.Slot.Role] > 0:
			leaving = append(leaving, i)
		default:
			staying = append(staying, i)
		}
	}
	return leaving, staying
}

// isKnownIll reports whether the job avoids the node for being ill.
func isKnownIll(s *state.Snapshot, node string) bool {
	return slices.ContainsFunc(s.Job.Status.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool {
		return n.Name == node && n.Reason == v1alpha1.ReasonNodeIll && s.Now.Before(n.Until.Time)
	})
}

// stayOn returns the avoided nodes with the ill ones that the job would leave if others suited: that it is told once, and that new pods take them
// only if they fit nowhere else.
func stayOn(s *state.Snapshot, avoided []v1alpha1.AvoidedNode) []v1alpha1.AvoidedNode {
	if isResting(s) || isBroken(s) {
		return avoided
	}
	ttl := time.Duration(ptr.Deref(s.Job.Spec.Recovery.AvoidNodesSeconds, v1alpha1.DefaultAvoidNodesSeconds)) * time.Second
	_, staying := departures(s)
	for _, i := range staying {
		kept := slices.DeleteFunc(slices.Clone(avoided), func(n v1alpha1.AvoidedNode) bool { return !s.Now.Before(n.Until.Time) })
		isListed := slices.ContainsFunc(kept, func(n v1alpha1.AvoidedNode) bool { return n.Name == i.Node })
		if !isListed && len(kept) < maxAvoided {
			kept = append(kept, v1alpha1.AvoidedNode{
				Name: i.Node, Reason: i.Reason, Strikes: 1, Preferred: true, Until: metav1.NewTime(i.RestartTime.Add(ttl)),
			})
			avoided = kept
		}
	}
	slices.SortFunc(avoided, func(a, b v1alpha1.AvoidedNode) int { return cmp.Compare(a.Name, b.Name) })
	return avoided
}
