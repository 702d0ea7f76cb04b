package cluster

import (
	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// home is the node of a slot's latest pod that had one.
type home struct {
	life state.Life
	node string
}

// homes takes over where the job's pods are, and returns the node of each slot's latest pod, whether that is still there or gone. It is
// no more than this process has seen: after a change of leader during a restart the slots that it has not seen have no home.
func (c *Cluster) homes(job *v1alpha1.TrainingJob, pods []state.Pod) map[state.Slot]string {
	nodes := make(map[state.Slot]string, len(pods))
	c.memo(job, func(m *jobMemo) {
		if m.homes == nil {
			m.homes = map[state.Slot]home{}
		}
		for i := range pods {
			if p := &pods[i]; p.Scheduled() && !p.Life.Before(m.homes[p.Slot].life) {
				m.homes[p.Slot] = home{p.Life, p.Node}
			}
		}
		for slot, h := range m.homes {
			nodes[slot] = h.node
		}
	})
	return nodes
}
