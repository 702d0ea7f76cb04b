package cluster

import "github.com/trainingjob/operator/pkg/state"

// previousNode is the node of a slot's latest pod with a node.
type previousNode struct {
	life state.Life
	node string
}

// previousNodes records the nodes of the job's pods, and returns the latest node of each slot whose pod is missing. This process
// must have seen the pod: after a change of leader during a restart some nodes are unknown.
func (c *Cluster) previousNodes(s *state.Snapshot) map[state.Slot]string {
	nodes := map[state.Slot]string{}
	c.memo(s.Job, func(m *jobMemo) {
		if m.previousNodes == nil {
			m.previousNodes = map[state.Slot]previousNode{}
		}
		for i := range s.Pods {
			m.recordNode(&s.Pods[i])
		}
		for r := range s.Replicas() {
			if r.State != state.Missing {
				continue
			}
			if previous, isKnown := m.previousNodes[r.Slot]; isKnown {
				nodes[r.Slot] = previous.node
			}
		}
	})
	return nodes
}

// recordNode records the pod's node for its slot, unless a later pod had one.
func (m *jobMemo) recordNode(p *state.Pod) {
	if was := m.previousNodes[p.Slot]; p.Scheduled() && !p.Life.Before(was.life) && was != (previousNode{p.Life, p.Node}) {
		m.previousNodes[p.Slot] = previousNode{p.Life, p.Node}
	}
}
