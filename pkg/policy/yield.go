package policy

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/pkg/state"
)

// avoided returns the nodes that new pods of the job avoid now: those of the status, and those that are ill. None is excluded while too few
// others are left: a job on a suspect node is better than a job on none.
func avoided(s *state.Snapshot) state.Avoided {
	var nodes state.Avoided
	tooFew := s.Usable != nil && !suffice(s)
	for _, n := range s.Job.Status.AvoidedNodes {
		switch {
		case !s.Now.Before(n.Until.Time):
		case tooFew || n.Preferred:
			nodes.Preferred = append(nodes.Preferred, n.Name)
		default:
			nodes.Required = append(nodes.Required, n.Name)
		}
	}
	for _, name := range s.Ill {
		switch {
		case slices.Contains(nodes.Required, name) || slices.Contains(nodes.Preferred, name):
		case tooFew:
			nodes.Preferred = append(nodes.Preferred, name)
		default:
			nodes.Required = append(nodes.Required, name)
		}
	}
	slices.Sort(nodes.Required)
	slices.Sort(nodes.Preferred)
	return nodes
}

// suffice reports whether there are as many other nodes as the job may need.
func suffice(s *state.Snapshot) bool { return s.Usable != nil && s.Usable.Others >= nodesNeeded(s) }

// nodesNeeded returns how many nodes the job takes up if each replica that has none yet gets one of its own.
func nodesNeeded(s *state.Snapshot) int {
	taken, waiting := map[string]bool{}, 0
	for r := range s.Replicas() {
		switch {
		case r.LacksNode():
			waiting++
		case r.NeedsPod():
			taken[r.Pod.Node] = true
		}
	}
	return len(taken) + waiting
}

const (
	// yieldAfter is how long a pod fits nowhere before it may take a node that the job avoids: spares make way sooner.
	yieldAfter = 30 * time.Second
	// yieldAgain is how often to look whether an avoided node can be used again: it does not wake a job that has no pod on it.
	yieldAgain = time.Minute
)

// yield returns the avoided nodes that new pods may take from now on, because a pod has fitted on no other for a while and they
// could take it; and the time (zero: none) at which to ask again although nothing else happens.
func yield(s *state.Snapshot) (nodes []string, wake time.Time) {
	required := avoided(s).Required
	for r := range s.Replicas() {
		if !r.FitsNowhere() || len(r.Pod.Avoids) == 0 {
			continue
		}
		if due := r.Pod.Waiting.Time.Add(yieldAfter); s.Now.Before(due) {
			wake = state.Earliest(wake, due)
			continue
		}
		for _, node := range r.Pod.Avoids {
			isBack := s.Usable == nil || slices.Contains(s.Usable.Avoided, node)
			if isBack && slices.Contains(required, node) && !slices.Contains(nodes, node) {
				nodes = append(nodes, node)
			}
		}
		if len(nodes) == 0 && len(required) > 0 {
			wake = state.Earliest(wake, s.Now.Add(yieldAgain))
		}
	}
	return nodes, wake
}
