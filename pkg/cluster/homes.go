package cluster

import "github.com/trainingjob/operator/pkg/state"

// home is the node of a slot's latest pod that had one.
type home struct {
	life state.Life
	node string
}

// homes takes over where the job's pods are, and returns the node of the latest pod of each slot whose pod is missing. It is no more than
// this process has seen: after a change of leader during a restart the slots that it has not seen have no home.
func (c *Cluster) homes(s *state.Snapshot) map[state.Slot]string {
	nodes := map[state.Slot]string{}
	c.memo(s.Job, func(m *jobMemo) {
		if m.homes == nil {
			m.homes = map[state.Slot]home{}
		}
		for i := range s.Pods {
			m.moveHome(&s.Pods[i])
		}
		for r := range s.Replicas() {
			if r.State != state.Missing {
				continue
			}
			if h, isKnown := m.homes[r.Slot]; isKnown {
				nodes[r.Slot] = h.node
			}
		}
	})
	return nodes
}

// moveHome makes the pod's node the home of its slot, unless a later pod had one.
func (m *jobMemo) moveHome(p *state.Pod) {
	if was := m.homes[p.Slot]; p.Scheduled() && !p.Life.Before(was.life) && was != (home{p.Life, p.Node}) {
		m.homes[p.Slot] = home{p.Life, p.Node}
	}
}
