package policy

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Avoided returns the nodes that new pods of the job avoid now. None is excluded while too few others are left: a job on a
// suspect node is better than a job on none.
func Avoided(s *state.Snapshot) state.Avoided {
	var avoided state.Avoided
	tooFew := s.Usable != nil && s.Usable.Others < nodesNeeded(s)
	for _, n := range s.Job.Status.AvoidedNodes {
		switch {
		case !s.Now.Before(n.Until.Time):
		case tooFew || n.Preferred:
			avoided.Preferred = append(avoided.Preferred, n.Name)
		default:
			avoided.Required = append(avoided.Required, n.Name)
		}
	}
	return avoided
}

// nodesNeeded returns how many nodes the job takes up if each replica that has none yet gets one of its own.
func nodesNeeded(s *state.Snapshot) int {
	taken, waiting := map[string]bool{}, 0
	for _, slot := range s.Slots() {
		switch p := s.Present(slot); {
		case !s.IsWanted(slot) || HasSucceeded(s, slot):
		case p == nil || !p.Scheduled():
			waiting++
		default:
			taken[p.Node] = true
		}
	}
	return len(taken) + waiting
}

// IsMisplaced reports whether the pod waits for a node and excludes one that a new pod would not.
func IsMisplaced(p *state.Pod, avoided state.Avoided) bool {
	return p.CanRun() && !p.Scheduled() && p.Deleted.IsZero() &&
		slices.ContainsFunc(p.Avoids, func(node string) bool { return !slices.Contains(avoided.Required, node) })
}

const (
	// yieldAfter is how long a pod fits nowhere before it may take a node that the job avoids: spares make way sooner.
	yieldAfter = 30 * time.Second
	// yieldAgain is how often to look whether an avoided node can be used again: it does not wake a job that has no pod on it.
	yieldAgain = time.Minute
)

// Yield returns the avoided nodes that new pods may take from now on, because a pod has fitted on no other for a while and they
// could take it; and the time (zero: none) at which to ask again although nothing else happens.
func Yield(s *state.Snapshot) (nodes []string, wake time.Time) {
	required := Avoided(s).Required
	for _, slot := range s.Slots() {
		p := s.Present(slot)
		if p == nil || p.Scheduled() || !p.Deleted.IsZero() || p.Waiting.Reason != v1alpha1.ReasonUnschedulable || len(p.Avoids) == 0 {
			continue
		}
		if due := p.Waiting.Time.Add(yieldAfter); s.Now.Before(due) {
			wake = Earliest(wake, due)
			continue
		}
		for _, node := range p.Avoids {
			isBack := s.Usable == nil || slices.Contains(s.Usable.Avoided, node)
			if isBack && slices.Contains(required, node) && !slices.Contains(nodes, node) {
				nodes = append(nodes, node)
			}
		}
		if len(nodes) == 0 && len(required) > 0 {
			wake = Earliest(wake, s.Now.Add(yieldAgain))
		}
	}
	return nodes, wake
}
